// A thread is not to use what it freed itself.
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

int *volatile block;

int main(void) {
    pthread_t waiting;
    pthread_mutex_lock(&until);
    pthread_create(&waiting, 0, other, 0);
    block = malloc(100);
    block[10] = 1;
    free(block);
    pthread_mutex_unlock(&until);
    pthread_join(waiting, 0);
    return 0;
}
