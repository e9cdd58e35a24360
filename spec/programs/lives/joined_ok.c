// A block that another thread freed is not to be used, though the use is in order.
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

static void *freer(void *nothing) {
    free(block);
    return nothing;
}

int main(void) {
    pthread_t waiting;
    pthread_mutex_lock(&until);
    pthread_create(&waiting, 0, other, 0);
    pthread_t thread;
    block = malloc(100);
    dh_use(block[24]);
    pthread_create(&thread, 0, freer, 0);
    pthread_join(thread, 0);
    pthread_mutex_unlock(&until);
    pthread_join(waiting, 0);
    return 0;
}
