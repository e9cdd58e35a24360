// A region comes after what was done before it, also one of sections.
//! flags: -fopenmp
#include "../order.h"

int value;

int main(void) {
#pragma omp parallel sections num_threads(2)
    {
#pragma omp section
        {
            dh_step(2);
            value = 1; //~ race 1: write
            dh_done(1);
        }
#pragma omp section
        {
            dh_done(2);
            dh_step(1);
            dh_use(value); //~ race 1: read
        }
    }
    return 0;
}
