// A barrier parts writing from reading, but not the reading from the next round's writing.
#include <pthread.h>
#include "../hunt.h"

int value;
pthread_barrier_t barrier;

static void *reader(void *nothing) {
    pthread_barrier_wait(&barrier);
    USE(value);
    pthread_barrier_wait(&barrier);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_barrier_init(&barrier, 0, 2);
    pthread_create(&thread, 0, reader, 0);
    value = 1;
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    value = 2;
    pthread_join(thread, 0);
    pthread_barrier_destroy(&barrier);
    return 0;
}
