// A taskwait is for children alone, the end of a taskgroup for all descendants.
//! flags: -fopenmp
#include "../order.h"

int value;

int main(void) {
#pragma omp parallel num_threads(3)
#pragma omp single
    {
#pragma omp taskgroup
        {
#pragma omp task
            {
#pragma omp task
                {
                    dh_done(2);
                    value = 1;
                    dh_done(1);
                }
                // Neither this thread nor the first runs the inner task.
                dh_step(2);
            }
            dh_step(2);
        }
        dh_step(1);
        dh_use(value);
    }
    return 0;
}
