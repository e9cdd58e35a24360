// A wait gives the mutex back and takes it again: what the waker did under it comes before.
#include <pthread.h>
#include "../order.h"

int value, ready;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

static void *waker(void *nothing) {
    pthread_mutex_lock(&mutex);
    ready = 1;
    pthread_cond_signal(&condition);
    pthread_mutex_unlock(&mutex);
    value = 1; //~ race 1: write
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_mutex_lock(&mutex);
    pthread_create(&thread, 0, waker, 0);
    while (!ready)
        pthread_cond_wait(&condition, &mutex);
    dh_step(1);
    dh_use(value); //~ race 1: read
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, 0);
    return 0;
}
