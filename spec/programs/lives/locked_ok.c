// A lock orders the use of a freed block behind its end, and does not make it right.
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

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
int *volatile block;

static void *freer(void *nothing) {
    pthread_mutex_lock(&mutex);
    free(block);
    pthread_mutex_unlock(&mutex);
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t waiting;
    pthread_mutex_lock(&until);
    pthread_create(&waiting, 0, other, 0);
    pthread_t thread;
    block = malloc(100);
    pthread_mutex_lock(&mutex);
    block[0] = 1;
    pthread_mutex_unlock(&mutex);
    pthread_create(&thread, 0, freer, 0);
    dh_step(1);
    pthread_join(thread, 0);
    pthread_mutex_unlock(&until);
    pthread_join(waiting, 0);
    return 0;
}
