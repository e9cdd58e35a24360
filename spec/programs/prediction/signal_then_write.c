// Who signals and then goes on writing may still write when the waiter is back.
//! told by hb: none
//! told by sync-preserving: 1
//! told by sync-reversal: 1
//! told by shb: none
//! told by lockset: none
//! told by csp: 1
#include <pthread.h>

int ready, result, log_line;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, log_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void *one(void *nothing) {
    pthread_mutex_lock(&m);
    ready = 1;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&m);
    result = 1; //~ race 1: write
    pthread_mutex_lock(&log_lock);
    log_line = 1;
    pthread_mutex_unlock(&log_lock);
    return nothing;
}

static void *two(void *nothing) {
    pthread_mutex_lock(&m);
    while (!ready) pthread_cond_wait(&changed, &m);
    pthread_mutex_unlock(&m);
    pthread_mutex_lock(&log_lock);
    log_line = 2;
    pthread_mutex_unlock(&log_lock);
    return result ? &result : nothing; //~ race 1: read
}

int main(void) {
    pthread_t first, second;
    pthread_create(&first, 0, one, 0);
    pthread_create(&second, 0, two, 0);
    pthread_join(first, 0);
    pthread_join(second, 0);
    return 0;
}
