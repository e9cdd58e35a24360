// A program that can lie anywhere races, wherever it and its memory come to lie.
//! flags: -fPIE -pie
#include <pthread.h>

#include "../programs/order.h"

long value;

static void *first(void *argument) {
    value = 1; //~ race 1: write
    dh_done(1);
    return argument;
}

static void *second(void *argument) {
    dh_step(1);
    value = 2; //~ race 1: write
    return argument;
}

int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], 0, first, 0);
    pthread_create(&threads[1], 0, second, 0);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    return 0;
}
