// A barrier orders all that met there in both directions, the last to arrive no more than the first.
#include <pthread.h>
#include "../order.h"

int values[3], late;
pthread_barrier_t barrier;

static void work(int own) {
    values[own] = 1;
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < 3; i++)
        dh_use(values[i]);
}

static void *first(void *nothing) {
    work(0);
    late = 1; //~ race 1: write
    dh_done(1);
    return nothing;
}

static void *second(void *nothing) {
    work(1);
    dh_step(1);
    dh_use(late); //~ race 1: read
    return nothing;
}

int main(void) {
    pthread_t one, other;
    pthread_barrier_init(&barrier, 0, 3);
    pthread_create(&one, 0, first, 0);
    pthread_create(&other, 0, second, 0);
    work(2);
    pthread_join(one, 0);
    pthread_join(other, 0);
    return 0;
}
