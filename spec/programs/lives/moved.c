// What a block's growth left behind is not to be used.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "../order.h"

// While it waits, more than one thread runs.
static pthread_mutex_t until = PTHREAD_MUTEX_INITIALIZER;

static void *other(void *nothing) {
    pthread_mutex_lock(&until);
    pthread_mutex_unlock(&until);
    return nothing;
}

char *volatile block;

int main(void) {
    pthread_t waiting;
    pthread_mutex_lock(&until);
    pthread_create(&waiting, 0, other, 0);
    block = malloc(40);
    void *volatile behind = malloc(40);
    char *volatile old = block;
    block = realloc(block, 3000);
    old[8] = 1; //~ finding 1: use-after-free
    free(block);
    free(behind);
    pthread_mutex_unlock(&until);
    pthread_join(waiting, 0);
    return 0;
}
