// All that may be used of a block is the block's, also what was not asked for: only the global races, not the blocks.
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "../order.h"

enum { COUNT = 400, BEFORE = 200, AFTER = 185 };

char *blocks[COUNT];
int value;

static void *first(void *nothing) {
    for (int i = 0; i < COUNT; i++) {
        memset(blocks[i], 1, BEFORE);
        free(blocks[i]);
    }
    value = 1;
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    for (int i = 0; i < COUNT; i++) {
        blocks[i] = malloc(BEFORE);
        memset(blocks[i], 0, malloc_usable_size(blocks[i]));
    }
    pthread_create(&thread, 0, first, 0);
    dh_step(1);
    for (int i = 0; i < COUNT; i++) {
        char *again = malloc(AFTER);
        memset(again, 2, malloc_usable_size(again));
    }
    pthread_join(thread, 0);
    value = 2;
    return 0;
}
