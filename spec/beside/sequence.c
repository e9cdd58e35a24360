// The last two of 20 000 threads, all others of which were joined one after the other, race.
#include <pthread.h>

#include "../programs/order.h"

#define THREADS 20000

long value;
static long sum;

static void *count(void *argument) {
    sum++;
    return argument;
}

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
    for (int i = 0; i < THREADS - 2; i++) {
        pthread_create(&threads[0], 0, count, 0);
        pthread_join(threads[0], 0);
    }
    pthread_create(&threads[0], 0, first, 0);
    pthread_create(&threads[1], 0, second, 0);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    return sum != THREADS - 2;
}
