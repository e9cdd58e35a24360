// An atomic access to a freed block is no better than a plain one.
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

long *volatile block;

int main(void) {
    pthread_t waiting;
    pthread_mutex_lock(&until);
    pthread_create(&waiting, 0, other, 0);
    block = malloc(sizeof *block);
    __atomic_store_n(block, 1, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(block, 1, __ATOMIC_SEQ_CST);
    free(block);
    pthread_mutex_unlock(&until);
    pthread_join(waiting, 0);
    return 0;
}
