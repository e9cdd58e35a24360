// Two threads hold different locks of two; the third, which holds both, comes between them.
//! told by hb: none
//! told by sync-preserving: 1
//! told by sync-reversal: 1
//! told by shb: none
//! told by lockset: none
//! told by csp: 1
#include <pthread.h>

int x;
pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;

static void *one(void *nothing) {
    pthread_mutex_lock(&a);
    x = 1; //~ race 1: write
    pthread_mutex_unlock(&a);
    return nothing;
}

static void *two(void *nothing) {
    pthread_mutex_lock(&a);
    pthread_mutex_lock(&b);
    x = 2;
    pthread_mutex_unlock(&b);
    pthread_mutex_unlock(&a);
    return nothing;
}

static void *three(void *nothing) {
    pthread_mutex_lock(&b);
    x = 3; //~ race 1: write
    pthread_mutex_unlock(&b);
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
