// A barrier does not order what comes after it.
//! flags: -fopenmp
#include <omp.h>
#include "../order.h"

int value;

int main(void) {
#pragma omp parallel num_threads(2)
    {
#pragma omp barrier
        if (omp_get_thread_num() == 0) {
            value = 1; //~ race 1: write
            dh_done(1);
        }
        if (omp_get_thread_num() == 1) {
            dh_step(1);
            dh_use(value); //~ race 1: read
        }
#pragma omp barrier
    }
    return 0;
}
