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
            value = 1; //~ race 1: write
            dh_done(1);
        }
#pragma omp task if (0)
        {
            dh_step(1);
            dh_use(value); //~ race 1: read
        }
    }
    return 0;
}
