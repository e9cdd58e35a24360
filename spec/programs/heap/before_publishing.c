// A block that its maker hands over under a mutex carries what was written into it before.
#include <pthread.h>
#include <stdlib.h>
#include "../order.h"

int *shared;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *maker(void *nothing) {
    int *block = malloc(sizeof *block);
    pthread_mutex_lock(&mutex);
    shared = block;
    pthread_mutex_unlock(&mutex);
    *block = 1; //~ race 1: write
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, maker, 0);
    dh_step(1);
    pthread_mutex_lock(&mutex);
    int *block = shared;
    pthread_mutex_unlock(&mutex);
    dh_use(*block); //~ race 1: read
    pthread_join(thread, 0);
    free(block);
    return 0;
}
