// A task comes after what was done before it was created, not after what is done then.
//! flags: -fopenmp
#include "../order.h"

int value;

int main(void) {
#pragma omp parallel num_threads(2)
#pragma omp single
    {
        value = 1;
#pragma omp task
        {
            dh_step(1);
            dh_use(value);
            dh_done(2);
        }
        dh_done(1);
        dh_step(2);
    }
    return 0;
}
