// A check without the lock, in front of one with it.
//! told by hb: none
//! told by sync-preserving: none
//! told by sync-reversal: 1
//! told by shb: none
//! told by lockset: none
//! told by csp: 1
#include <pthread.h>

int made, object;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

static int get(void) {
    if (!made) { //~ race 1: read
        pthread_mutex_lock(&m);
        if (!made) {
            object = 1;
            made = 1; //~ race 1: write
        }
        pthread_mutex_unlock(&m);
    }
    return object;
}

static void *one(void *nothing) {
    return get() ? &object : nothing;
}

static void *two(void *nothing) {
    pthread_mutex_lock(&m);
    pthread_mutex_unlock(&m);
    return get() ? &object : nothing;
}

int main(void) {
    pthread_t first, second;
    pthread_create(&first, 0, one, 0);
    pthread_create(&second, 0, two, 0);
    pthread_join(first, 0);
    pthread_join(second, 0);
    return 0;
}
