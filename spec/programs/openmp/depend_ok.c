// Tasks that depend on each other come one after the other.
//! flags: -fopenmp
#include "../order.h"

int value;

int main(void) {
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp task depend(out : value)
        {
            value = 1;
            dh_done(1);
        }
#pragma omp task if (0) depend(in : value)
        {
            dh_step(1);
            dh_use(value);
        }
    }
    return 0;
}
