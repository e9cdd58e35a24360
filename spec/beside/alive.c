// Thousands of threads are alive at once; the last one's write races with that of the first.
#include <pthread.h>
#include <semaphore.h>

#include "../programs/order.h"

#ifndef THREADS
#define THREADS 10000
#endif

static pthread_t threads[THREADS];
static sem_t ready;
long value;
static long sum;

// Of all threads this one alone orders nothing.
static void *first(void *argument) {
    value = 1; //~ race 1: write
    dh_done(1);
    dh_step(2);
    return argument;
}

// One comes after the other, and all stay.
static void *come(void *argument) {
    sum++;
    sem_post(&ready);
    dh_step(2);
    return argument;
}

static void *last(void *argument) {
    value = 2; //~ race 1: write
    dh_done(2);
    return argument;
}

int main(void) {
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 64 << 10);
    sem_init(&ready, 0, 0);
    if (pthread_create(&threads[0], &small, first, 0))
        return 2;
    dh_step(1);
    for (int i = 1; i < THREADS - 1; i++) {
        if (pthread_create(&threads[i], &small, come, 0))
            return 3;
        sem_wait(&ready);
    }
    if (pthread_create(&threads[THREADS - 1], &small, last, 0))
        return 4;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], 0);
    return sum != THREADS - 2;
}
