// A task that writes comes after all that read.
//! flags: -fopenmp
#include "../order.h"

int value;

int main(void) {
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp task depend(in : value)
        {
            dh_use(value); //~ race 1: read
            dh_done(1);
        }
#pragma omp task if (0) depend(in : value)
        {
            dh_step(1);
            value = 1; //~ race 1: write
        }
    }
    return 0;
}
