// A function of the C library is not to write to a freed block either.
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
volatile size_t size = 60;

int main(void) {
    pthread_t waiting;
    pthread_mutex_lock(&until);
    pthread_create(&waiting, 0, other, 0);
    block = malloc(64);
    free(block);
    memset(block, 1, size); //~ finding 1: use-after-free
    pthread_mutex_unlock(&until);
    pthread_join(waiting, 0);
    return 0;
}
