// A pthread_cond_timedwait whose time ran out saw no signal, but it holds the mutex again.
#include <errno.h>
#include <pthread.h>
#include "../order.h"

int value;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
struct timespec long_ago = {0, 0};

static void *waker(void *nothing) {
    pthread_mutex_lock(&mutex);
    value = 1;
    pthread_mutex_unlock(&mutex);
    pthread_cond_signal(&condition);
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, waker, 0);
    dh_step(1);
    pthread_mutex_lock(&mutex);
    int late = pthread_cond_timedwait(&condition, &mutex, &long_ago);
    dh_use(value);
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, 0);
    return late == ETIMEDOUT ? 0 : 1;
}
