// A task comes after what was done before it was created, not after what is done then.
//! flags: -fopenmp
#include "../order.h"

int value;

int main(void) {
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp task
        {
            dh_step(1);
            dh_use(value); //~ race 1: read
            dh_done(2);
        }
        value = 1; //~ race 1: write
        dh_done(1);
        dh_step(2);
    }
    return 0;
}
