// A heap block is shared like any other memory once its address is.
//! location 1: heap
#include <pthread.h>
#include <stdlib.h>
#include "../order.h"

static void *writer(void *block) {
    ((int *)block)[3] = 1; //~ race 1: write
    dh_done(1);
    return block;
}

int main(void) {
    pthread_t thread;
    int *block = malloc(4 * sizeof *block);
    pthread_create(&thread, 0, writer, block);
    dh_step(1);
    dh_use(block[3]); //~ race 1: read
    pthread_join(thread, 0);
    free(block);
    return 0;
}
