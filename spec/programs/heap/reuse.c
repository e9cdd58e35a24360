// A block that was freed and given out again has no past: only the global races, not the two blocks.
#include <pthread.h>
#include <stdlib.h>
#include "../order.h"

enum { SIZE = 4000 };

int value;

static void *first(void *block) {
    *(int *)block = 1;
    free(block);
    value = 1; //~ race 1: write
    dh_done(1);
    return 0;
}

int main(void) {
    pthread_t thread;
    void *block = malloc(SIZE);
    pthread_create(&thread, 0, first, block);
    dh_step(1);
    int *again = malloc(SIZE);
    *again = 2;
    value = 2; //~ race 1: write
    free(again);
    pthread_join(thread, 0);
    return 0;
}
