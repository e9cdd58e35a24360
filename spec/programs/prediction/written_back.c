// What was read under the lock is written back behind it.
//! told by hb: none
//! told by sync-preserving: 1
//! told by sync-reversal: 1
//! told by shb: none
//! told by lockset: none
//! told by csp: 1
#include <pthread.h>

int balance = 10, audits;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

static void *one(void *nothing) {
    pthread_mutex_lock(&m);
    int now = balance;
    pthread_mutex_unlock(&m);
    balance = now - 1; //~ race 1: write
    pthread_mutex_lock(&m);
    audits++;
    pthread_mutex_unlock(&m);
    return nothing;
}

static void *two(void *nothing) {
    pthread_mutex_lock(&m);
    balance = 5; //~ race 1: write
    pthread_mutex_unlock(&m);
    return nothing;
}

int main(void) {
    pthread_t first, second;
    pthread_create(&first, 0, one, 0);
    pthread_create(&second, 0, two, 0);
    pthread_join(first, 0);
    pthread_join(second, 0);
    return 0;
}
