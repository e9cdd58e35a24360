// A write races with the first of 33 reads; the other 32, of threads that are joined, came between.
#include <pthread.h>

#include "../programs/order.h"

#define READERS 32

long value;
static long own[READERS][8];

static void *racing(void *argument) {
    dh_use(value); //~ race 1: read
    dh_done(1);
    dh_step(2);
    return argument;
}

// Each does some more of its own, so that no two have done the same number of things when they read.
static void *reading(void *argument) {
    long number = (long)argument;
    for (long i = 0; i < number % 8; i++)
        own[number][i] = i;
    dh_use(value);
    return 0;
}

int main(void) {
    pthread_t first, readers[READERS];
    pthread_create(&first, 0, racing, 0);
    dh_step(1);
    for (long i = 0; i < READERS; i++)
        pthread_create(&readers[i], 0, reading, (void *)i);
    for (long i = 0; i < READERS; i++)
        pthread_join(readers[i], 0);
    value = 1; //~ race 1: write
    dh_done(2);
    pthread_join(first, 0);
    return 0;
}
