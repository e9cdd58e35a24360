// Each round of a barrier orders anew: what is written within a round may be read after it.
#include <pthread.h>
#include "../order.h"

int value;
pthread_barrier_t barrier;

static void *writer(void *nothing) {
    pthread_barrier_wait(&barrier);
    value = 1;
    dh_done(1);
    dh_step(2);
    pthread_barrier_wait(&barrier);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_barrier_init(&barrier, 0, 2);
    pthread_create(&thread, 0, writer, 0);
    pthread_barrier_wait(&barrier);
    dh_step(1);
    dh_done(2);
    pthread_barrier_wait(&barrier);
    dh_use(value);
    pthread_join(thread, 0);
    pthread_barrier_destroy(&barrier);
    return 0;
}
