// A pthread_mutex_trylock that found the mutex taken has locked nothing.
#include <pthread.h>
#include "../order.h"

int value;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *writer(void *nothing) {
    pthread_mutex_lock(&mutex);
    value = 1;
    dh_done(1);
    dh_step(2);
    pthread_mutex_unlock(&mutex);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, writer, 0);
    dh_step(1);
    if (pthread_mutex_trylock(&mutex) == 0)
        dh_use(value);
    dh_done(2);
    pthread_join(thread, 0);
    return 0;
}
