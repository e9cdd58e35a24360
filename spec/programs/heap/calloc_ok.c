// The zeros of calloc have no past, and race with nobody; what is written over them does.
//! location 1: heap
#include <pthread.h>
#include <stdlib.h>
#include "../order.h"

static void *writer(void *block) {
    dh_use(((int *)block)[0]);
    ((int *)block)[1] = 1;
    dh_done(1);
    return block;
}

int main(void) {
    pthread_t thread;
    int *block = calloc(4, sizeof *block);
    pthread_create(&thread, 0, writer, block);
    dh_step(1);
    pthread_join(thread, 0);
    block[1] = 2;
    free(block);
    return 0;
}
