// A realloc that moves the block ends the life of the old one.
#include <pthread.h>
#include <stdlib.h>
#include "../order.h"

static void *reader(void *block) {
    dh_use(*(int *)block);
    dh_done(1);
    return block;
}

int main(void) {
    pthread_t thread;
    int *block = malloc(sizeof *block);
    *block = 1;
    pthread_create(&thread, 0, reader, block);
    dh_step(1);
    pthread_join(thread, 0);
    block = realloc(block, 1 << 20);
    int kept = *block;
    free(block);
    return kept == 1 ? 0 : 1;
}
