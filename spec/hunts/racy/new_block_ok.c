// A thread publishes a block that it takes from the heap; the other reads it under the same lock.
#include <pthread.h>
#include <stdlib.h>
#include "../hunt.h"

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
int *slot;

static void *maker(void *nothing) {
    int *made = malloc(sizeof *made);
    pthread_mutex_lock(&mutex);
    slot = made;
    pthread_mutex_unlock(&mutex);
    pthread_mutex_lock(&mutex);
    *made = 7;
    pthread_mutex_unlock(&mutex);
    return nothing;
}

int main(void) {
    pthread_t thread;
    int *found;
    pthread_create(&thread, 0, maker, 0);
    do {
        pthread_mutex_lock(&mutex);
        found = slot;
        pthread_mutex_unlock(&mutex);
    } while (!found);
    pthread_mutex_lock(&mutex);
    USE(*found);
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, 0);
    free(slot);
    return 0;
}
