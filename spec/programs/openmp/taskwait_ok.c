// A task is not waited for but by a taskwait.
//! flags: -fopenmp
#include "../order.h"

int value;

int main(void) {
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp task
        {
            value = 1;
            dh_done(1);
        }
#pragma omp taskwait
        dh_step(1);
        dh_use(value);
    }
    return 0;
}
