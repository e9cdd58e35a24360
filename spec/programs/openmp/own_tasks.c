// Tasks that each thread makes for itself and waits for order nothing between the threads, also where the one's are told of in the memory of the other's.
//! flags: -fopenmp
#include "../order.h"

int parts[2];
int value;
int other;

static void first(void) {
    value = 1; //~ race 1: write
#pragma omp task
    parts[1]++;
#pragma omp taskwait
    other = 1; //~ race 2: write
    dh_done(1);
    dh_step(2);
}

static void second(void) {
    dh_step(1);
    dh_use(other); //~ race 2: read
#pragma omp task
    parts[0]++;
#pragma omp taskwait
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
