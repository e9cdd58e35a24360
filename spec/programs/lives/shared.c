// A block that several threads have read is freed once they are through, and then used.
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

static void *reader(void *nothing) {
    dh_use(block[2]);
    return nothing;
}

int main(void) {
    pthread_t waiting;
    pthread_mutex_lock(&until);
    pthread_create(&waiting, 0, other, 0);
    pthread_t threads[3];
    block = calloc(4, sizeof *block);
    for (int at = 0; at < 3; at++)
        pthread_create(&threads[at], 0, reader, 0);
    for (int at = 0; at < 3; at++)
        pthread_join(threads[at], 0);
    dh_use(block[2]);
    free(block);
    dh_use(block[2]); //~ finding 1: use-after-free
    pthread_mutex_unlock(&until);
    pthread_join(waiting, 0);
    return 0;
}
