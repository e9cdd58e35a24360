// Sections are not ordered; what comes behind them is.
//! flags: -fopenmp
#include "../order.h"

int value;

int main(void) {
#pragma omp parallel num_threads(2)
    {
#pragma omp sections
        {
#pragma omp section
            {
                dh_step(2);
                value = 1;
                dh_done(1);
            }
#pragma omp section
            {
                dh_done(2);
                dh_step(1);
            }
        }
        dh_use(value);
    }
    return 0;
}
