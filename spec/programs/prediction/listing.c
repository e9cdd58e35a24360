// A lock that protects another variable orders two accesses by chance.
//! told by hb: none
//! told by sync-preserving: 1
//! told by sync-reversal: 1
//! told by shb: none
//! told by lockset: 1
//! told by csp: 1
#include <pthread.h>

int x, y;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

static void *one(void *nothing) {
    y = 1; //~ race 1: write
    pthread_mutex_lock(&m);
    x = 1;
    pthread_mutex_unlock(&m);
    return nothing;
}

static void *two(void *nothing) {
    pthread_mutex_lock(&m);
    x = 2;
    pthread_mutex_unlock(&m);
    y = 2; //~ race 1: write
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
