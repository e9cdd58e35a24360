// The inner regions of two threads, one behind the other, order nothing between these.
//! flags: -fopenmp
#include "../order.h"

int parts[2];
int value;

static void first(void) {
    value = 1; //~ race 1: write
#pragma omp parallel num_threads(1)
    parts[1]++;
    dh_done(1);
    dh_step(2);
}

static void second(void) {
    dh_step(1);
#pragma omp parallel num_threads(1)
    parts[0]++;
    dh_use(value); //~ race 1: read
    dh_done(2);
}

int main(void) {
#pragma omp parallel sections num_threads(2)
    {
#pragma omp section
        first();
#pragma omp section
        second();
    }
    return 0;
}
