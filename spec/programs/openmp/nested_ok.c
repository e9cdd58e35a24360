// A region in a region orders its own team alone.
//! flags: -fopenmp
#include <omp.h>
#include "../order.h"

int value;

int main(void) {
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
    {
        int outer = omp_get_thread_num();
        if (outer == 0) {
#pragma omp parallel num_threads(2)
            if (omp_get_thread_num() == 1)
                value = 1;
            dh_use(value);
            dh_done(1);
        }
#pragma omp barrier
        if (outer == 1) {
            dh_step(1);
            dh_use(value);
        }
    }
    return 0;
}
