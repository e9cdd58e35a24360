// The inner regions of two threads, one behind the other, order nothing between these.
//! flags: -fopenmp
#include "../order.h"

int parts[2];
int value;

static void first(void) {
    value = 1;
#pragma omp parallel num_threads(1)
    parts[1]++;
}

static void second(void) {
#pragma omp parallel num_threads(1)
    parts[0]++;
    dh_use(value);
}

int main(void) {
#pragma omp parallel num_threads(2)
    {
#pragma omp single
        first();
#pragma omp single
        second();
    }
    return 0;
}
