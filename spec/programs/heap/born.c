// Memory that another thread has just got from the heap must be handed over in order, although nobody wrote to it.
#include <pthread.h>
#include <stdlib.h>
#include "../order.h"

int *block;

static void *writer(void *nothing) {
    dh_step(1);
    __atomic_load_n(&block, __ATOMIC_RELAXED)[0] = 1; //~ race 1: write
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, writer, 0);
    __atomic_store_n(&block, malloc(40), __ATOMIC_RELAXED); //~ race 1: write
    dh_done(1);
    pthread_join(thread, 0);
    free(block);
    return 0;
}
