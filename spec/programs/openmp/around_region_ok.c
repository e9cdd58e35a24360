// A thread that was there before the region is not ordered by it, as those of the region are.
//! flags: -fopenmp
#include <omp.h>
#include <pthread.h>
#include "../order.h"

int value;

static void *other(void *nothing) {
    dh_step(1);
    dh_use(value);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, other, 0);
    dh_done(1);
    pthread_join(thread, 0);
#pragma omp parallel num_threads(2)
    if (omp_get_thread_num() == 1)
        value = 1;
    dh_use(value);
    return 0;
}
