// Each region comes after what was done before it, by whichever thread.
//! flags: -fopenmp
#include <omp.h>
#include "../order.h"

int values[2];

int main(void) {
#pragma omp parallel num_threads(2)
    {
        values[omp_get_thread_num()] = 1; //~ race 1: write
        if (omp_get_thread_num() == 0)
            dh_done(1);
        if (omp_get_thread_num() == 1) {
            dh_step(1);
            dh_use(values[0]); //~ race 1: read
        }
    }
    return 0;
}
