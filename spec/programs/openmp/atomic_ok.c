// An atomic construct does not protect from an access that is none.
//! flags: -fopenmp
#include <omp.h>
#include "../order.h"

int value;

int main(void) {
#pragma omp parallel num_threads(2)
    if (omp_get_thread_num() == 0) {
#pragma omp atomic
        value += 1;
        dh_done(1);
    } else {
        int seen;
        dh_step(1);
#pragma omp atomic read
        seen = value;
        dh_use(seen);
    }
    return 0;
}
