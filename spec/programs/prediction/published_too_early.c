// What is set behind the flag that publishes it is in order only for who comes late.
//! told by hb: none
//! told by sync-preserving: 1
//! told by sync-reversal: 1
//! told by shb: none
//! told by lockset: none
//! told by csp: 1
#include <pthread.h>

int data, flag, look;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, n = PTHREAD_MUTEX_INITIALIZER;

static void *one(void *nothing) {
    pthread_mutex_lock(&m);
    flag = 1;
    pthread_mutex_unlock(&m);
    data = 1; //~ race 1: write
    pthread_mutex_lock(&n);
    look = 1;
    pthread_mutex_unlock(&n);
    return nothing;
}

static void *two(void *nothing) {
    pthread_mutex_lock(&n);
    look = 2;
    pthread_mutex_unlock(&n);
    pthread_mutex_lock(&m);
    int seen = flag;
    pthread_mutex_unlock(&m);
    return seen && data ? &data : nothing; //~ race 1: read
}

int main(void) {
    pthread_t first, second;
    pthread_create(&first, 0, one, 0);
    pthread_create(&second, 0, two, 0);
    pthread_join(first, 0);
    pthread_join(second, 0);
    return 0;
}
