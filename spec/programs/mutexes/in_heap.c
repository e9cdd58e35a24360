// A mutex in a heap block passes on nothing of the mutex that lay there before the block was freed.
#include <pthread.h>
#include <stdlib.h>
#include "../order.h"

int value;

static void *writer(void *mutex) {
    pthread_mutex_lock(mutex); //~ race 2: read
    value = 1; //~ race 1: write
    pthread_mutex_unlock(mutex);
    dh_done(1);
    return mutex;
}

int main(void) {
    pthread_t thread;
    pthread_mutex_t *mutex = malloc(sizeof *mutex);
    pthread_mutex_init(mutex, 0);
    pthread_create(&thread, 0, writer, mutex);
    dh_step(1);
    free(mutex); //~ race 2: free
    mutex = malloc(sizeof *mutex);
    pthread_mutex_init(mutex, 0);
    pthread_mutex_lock(mutex);
    dh_use(value); //~ race 1: read
    pthread_mutex_unlock(mutex);
    pthread_join(thread, 0);
    free(mutex);
    return 0;
}
