// A task is over when all threads have passed the barrier behind it.
//! flags: -fopenmp
#include "../order.h"

int value;

int main(void) {
#pragma omp parallel num_threads(2)
    {
#pragma omp master
        {
#pragma omp task
            {
                value = 1; //~ race 1: write
                dh_done(1);
            }
            dh_step(1);
            dh_use(value); //~ race 1: read
        }
#pragma omp barrier
    }
    return 0;
}
