// What neighbours write in different phases of a barrier is in order.
//! told by hb: none
//! told by sync-preserving: none
//! told by sync-reversal: none
//! told by shb: none
//! told by lockset: none
//! told by csp: none
#include <pthread.h>

int cell, done;
pthread_barrier_t phase;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

static void *one(void *nothing) {
    cell = 1;
    pthread_mutex_lock(&m);
    done = 1;
    pthread_mutex_unlock(&m);
    pthread_barrier_wait(&phase);
    return nothing;
}

static void *two(void *nothing) {
    pthread_mutex_lock(&m);
    done = 2;
    pthread_mutex_unlock(&m);
    pthread_barrier_wait(&phase);
    cell = 2;
    return nothing;
}

int main(void) {
    pthread_t first, second;
    pthread_barrier_init(&phase, 0, 2);
    pthread_create(&first, 0, one, 0);
    pthread_create(&second, 0, two, 0);
    pthread_join(first, 0);
    pthread_join(second, 0);
    return 0;
}
