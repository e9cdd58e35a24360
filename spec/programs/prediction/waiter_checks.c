// A waiter that finds what it waits for does not wait; the lock alone orders it.
//! told by hb: none
//! told by sync-preserving: none
//! told by sync-reversal: none
//! told by shb: none
//! told by lockset: none
//! told by csp: none
#include <pthread.h>

int full, item, polls;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t filled = PTHREAD_COND_INITIALIZER;

static void *one(void *nothing) {
    pthread_mutex_lock(&m);
    item = 7;
    full = 1;
    pthread_cond_signal(&filled);
    pthread_mutex_unlock(&m);
    return nothing;
}

static void *two(void *nothing) {
    pthread_mutex_lock(&m);
    polls++;
    while (!full) pthread_cond_wait(&filled, &m);
    pthread_mutex_unlock(&m);
    return item ? &item : nothing;
}

int main(void) {
    pthread_t first, second;
    pthread_create(&first, 0, one, 0);
    pthread_create(&second, 0, two, 0);
    pthread_join(first, 0);
    pthread_join(second, 0);
    return 0;
}
