// A thread publishes a block that it takes from the heap; the other reads it without a lock.
#include <pthread.h>
#include <stdlib.h>
#include "../hunt.h"

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
int *slot;

static void *maker(void *nothing) {
    int *made = malloc(sizeof *made);
    pthread_mutex_lock(&mutex);
    slot = made; //~ race 1: write
    pthread_mutex_unlock(&mutex);
    pthread_mutex_lock(&mutex);
    *made = 7; //~ race 2: write
    pthread_mutex_unlock(&mutex);
    return nothing;
}

int main(void) {
    pthread_t thread;
    int *found;
    pthread_create(&thread, 0, maker, 0);
    do {
        found = slot; //~ race 1: read
        APART();
    } while (!found);
    USE(*found); //~ race 2: read
    pthread_join(thread, 0);
    free(slot);
    return 0;
}
