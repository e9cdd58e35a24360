// A reallocarray that moves the block ends the life of the old one, and the new one has no past.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include "../order.h"

static void *writer(void *block) {
    *(int *)block = 1; //~ race 1: write
    dh_done(1);
    return block;
}

int main(void) {
    pthread_t thread;
    int *block = malloc(sizeof *block);
    pthread_create(&thread, 0, writer, block);
    dh_step(1);
    block = reallocarray(block, 1 << 18, sizeof *block); //~ race 1: free
    block[0] = 2;
    block[1 << 17] = 3;
    pthread_join(thread, 0);
    free(block);
    return 0;
}
