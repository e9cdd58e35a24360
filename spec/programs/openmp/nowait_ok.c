// A loop without its barrier orders nothing.
//! flags: -fopenmp
#include <omp.h>
#include "../order.h"

int values[2];

int main(void) {
#pragma omp parallel num_threads(2)
    {
#pragma omp for schedule(static, 1)
        for (int i = 0; i < 2; i++) {
            values[i] = 1;
            if (i == 0)
                dh_done(1);
        }
        if (omp_get_thread_num() == 1) {
            dh_step(1);
            dh_use(values[0]);
        }
    }
    return 0;
}
