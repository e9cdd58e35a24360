// An unlock that was refused, because another thread holds the mutex or nobody does, passes on nothing.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include "../order.h"

int value;
pthread_mutex_t mutex = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;

static void *writer(void *nothing) {
    pthread_mutex_lock(&mutex);
    value = 1;
    pthread_mutex_unlock(&mutex);
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, writer, 0);
    dh_step(1);
    pthread_mutex_lock(&mutex);
    dh_use(value);
    int refused = pthread_mutex_lock(&mutex) == EDEADLK;
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, 0);
    return refused ? 0 : 1;
}
