// What is published by a flag under a lock is in order for who finds the flag set.
//! told by hb: none
//! told by sync-preserving: none
//! told by sync-reversal: none
//! told by shb: none
//! told by lockset: none
//! told by csp: none
#include <pthread.h>

int data, flag, looks;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

static void *one(void *nothing) {
    data = 1;
    pthread_mutex_lock(&m);
    flag = 1;
    pthread_mutex_unlock(&m);
    return nothing;
}

static void *two(void *nothing) {
    pthread_mutex_lock(&m);
    looks++;
    int seen = flag;
    pthread_mutex_unlock(&m);
    return seen && data ? &data : nothing;
}

int main(void) {
    pthread_t first, second;
    pthread_create(&first, 0, one, 0);
    pthread_create(&second, 0, two, 0);
    pthread_join(first, 0);
    pthread_join(second, 0);
    return 0;
}
