// Instrumented code that an uninstrumented library calls back is watched.
#include <pthread.h>
#include <stdlib.h>
#include "../order.h"

int numbers[2] = {2, 1}, compared;

static int compare(const void *one, const void *other) {
    compared = 1; //~ race 1: write
    return *(const int *)one - *(const int *)other;
}

static void *sorter(void *nothing) {
    qsort(numbers, 2, sizeof *numbers, compare);
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, sorter, 0);
    dh_step(1);
    dh_use(compared); //~ race 1: read
    pthread_join(thread, 0);
    return 0;
}
