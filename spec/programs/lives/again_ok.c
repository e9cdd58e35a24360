// A freed block that was given out again has a life: its use is right, and only that of the other one is not.
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
int *volatile other_block;

int main(void) {
    pthread_t waiting;
    pthread_mutex_lock(&until);
    pthread_create(&waiting, 0, other, 0);
    other_block = malloc(200);
    for (int at = 0; at < 300; at++) {
        block = malloc(100);
        block[3] = at;
        free(block);
    }
    other_block[3] = 1;
    free(other_block);
    pthread_mutex_unlock(&until);
    pthread_join(waiting, 0);
    return 0;
}
