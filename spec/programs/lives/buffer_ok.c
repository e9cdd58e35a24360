// A block that was filled as a whole again and again is not to be used behind its end either.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "../order.h"

// While it waits, more than one thread runs.
static pthread_mutex_t until = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *other(void *nothing) {
    pthread_mutex_lock(&until);
    pthread_mutex_unlock(&until);
    return nothing;
}

char *volatile block;
volatile size_t size = 2100;

int main(void) {
    pthread_t waiting;
    pthread_mutex_lock(&until);
    pthread_create(&waiting, 0, other, 0);
    for (int life = 0; life < 3; life++) {
        block = malloc(size);
        for (int at = 0; at < 3; at++) {
            memset(block, at, size);
            pthread_mutex_lock(&mutex);
            pthread_mutex_unlock(&mutex);
        }
        if (life < 2)
            free(block);
    }
    block[1100] = 1;
    free(block);
    pthread_mutex_unlock(&until);
    pthread_join(waiting, 0);
    return 0;
}
