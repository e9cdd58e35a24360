// A mutex that was made anew at the same place passes on nothing of the old one.
#include <pthread.h>
#include "../order.h"

int value;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *writer(void *nothing) {
    pthread_mutex_trylock(&mutex);
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
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, 0);
    return 0;
}
