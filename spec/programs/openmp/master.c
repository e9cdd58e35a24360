// Nobody waits for a master block.
//! flags: -fopenmp
#include <omp.h>
#include "../order.h"

int value;

int main(void) {
#pragma omp parallel num_threads(2)
    {
#pragma omp master
        {
            value = 1; //~ race 1: write
            dh_done(1);
        }
        if (omp_get_thread_num() == 1) {
            dh_step(1);
            dh_use(value); //~ race 1: read
        }
    }
    return 0;
}
