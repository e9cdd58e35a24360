// What a thread sets after it has created another is not there for it before, whoever takes the lock first.
//! told by hb: none
//! told by sync-preserving: 1
//! told by sync-reversal: 1
//! told by shb: none
//! told by lockset: none
//! told by csp: 1
#include <pthread.h>

int settings, started;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

static void *one(void *nothing) {
    pthread_mutex_lock(&m);
    started = 1;
    pthread_mutex_unlock(&m);
    return settings ? &settings : nothing; //~ race 1: read
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, one, 0);
    settings = 1; //~ race 1: write
    pthread_mutex_lock(&m);
    started = 2;
    pthread_mutex_unlock(&m);
    pthread_join(thread, 0);
    return 0;
}
