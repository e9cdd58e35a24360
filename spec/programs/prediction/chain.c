// Three threads hand an order on through two locks, which need not be taken in that order.
//! told by hb: none
//! told by sync-preserving: 1
//! told by sync-reversal: 1
//! told by shb: none
//! told by lockset: 1
//! told by csp: 1
#include <pthread.h>

int data, left, right;
pthread_mutex_t l = PTHREAD_MUTEX_INITIALIZER, r = PTHREAD_MUTEX_INITIALIZER;

static void *one(void *nothing) {
    data = 1; //~ race 1: write
    pthread_mutex_lock(&l);
    left++;
    pthread_mutex_unlock(&l);
    return nothing;
}

static void *two(void *nothing) {
    pthread_mutex_lock(&l);
    left = 1;
    pthread_mutex_unlock(&l);
    pthread_mutex_lock(&r);
    right = 1;
    pthread_mutex_unlock(&r);
    return nothing;
}

static void *three(void *nothing) {
    pthread_mutex_lock(&r);
    right = 2;
    pthread_mutex_unlock(&r);
    data = 2; //~ race 1: write
    return nothing;
}

int main(void) {
    pthread_t first, second, third;
    pthread_create(&first, 0, one, 0);
    pthread_create(&second, 0, two, 0);
    pthread_create(&third, 0, three, 0);
    pthread_join(first, 0);
    pthread_join(second, 0);
    pthread_join(third, 0);
    return 0;
}
