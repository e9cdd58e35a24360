// To wait on a condition gives the mutex back: what the waiter did before comes before the waker.
#include <pthread.h>
#include "../order.h"

int value, ready;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

static void *waker(void *nothing) {
    pthread_mutex_lock(&mutex);
    dh_use(value);
    ready = 1;
    pthread_cond_signal(&condition);
    pthread_mutex_unlock(&mutex);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_mutex_lock(&mutex);
    pthread_create(&thread, 0, waker, 0);
    value = 1;
    dh_done(1);
    while (!ready)
        pthread_cond_wait(&condition, &mutex);
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, 0);
    return 0;
}
