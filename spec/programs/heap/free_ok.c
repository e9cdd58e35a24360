// To free a block is to write to all of it: who reads it meanwhile races with the free.
#include <pthread.h>
#include <stdlib.h>
#include "../order.h"

static void *reader(void *block) {
    dh_use(((char *)block)[99]);
    dh_done(1);
    return block;
}

int main(void) {
    pthread_t thread;
    char *block = malloc(100);
    block[99] = 1;
    pthread_create(&thread, 0, reader, block);
    dh_step(1);
    pthread_join(thread, 0);
    free(block);
    return 0;
}
