// Neighbours write in one phase of a barrier, ordered by a lock of something else.
//! told by hb: none
//! told by sync-preserving: 1
//! told by sync-reversal: 1
//! told by shb: none
//! told by lockset: 1
//! told by csp: 1
#include <pthread.h>

int cell, done;
pthread_barrier_t phase;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

static void *one(void *nothing) {
    pthread_barrier_wait(&phase);
    cell = 1; //~ race 1: write
    pthread_mutex_lock(&m);
    done = 1;
    pthread_mutex_unlock(&m);
    pthread_barrier_wait(&phase);
    return nothing;
}

static void *two(void *nothing) {
    pthread_barrier_wait(&phase);
    pthread_mutex_lock(&m);
    done = 2;
    pthread_mutex_unlock(&m);
    cell = 2; //~ race 1: write
    pthread_barrier_wait(&phase);
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
