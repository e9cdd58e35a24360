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
                value = 1;
                dh_done(1);
            }
            dh_step(1);
        }
#pragma omp barrier
#pragma omp master
        {
            dh_use(value);
        }
#pragma omp barrier
    }
    return 0;
}
