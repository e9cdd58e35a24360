// A statically linked program is watched like any other, its locks, threads and heap included.
//! flags: -static
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "../order.h"

char *block;
int value;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *worker(void *size) {
    pthread_mutex_lock(&mutex);
    value = 1;
    pthread_mutex_unlock(&mutex);
    memset(block, 1, *(unsigned long *)size); //~ race 1: write
    dh_done(1);
    return 0;
}

int main(void) {
    pthread_t thread;
    unsigned long size = 64;
    block = malloc(size);
    pthread_create(&thread, 0, worker, &size);
    dh_step(1);
    pthread_mutex_lock(&mutex);
    dh_use(value);
    pthread_mutex_unlock(&mutex);
    dh_use(block[63]); //~ race 1: read
    pthread_join(thread, 0);
    free(block);
    return 0;
}
