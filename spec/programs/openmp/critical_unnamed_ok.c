// Critical sections without a name exclude and order each other.
//! flags: -fopenmp
#include <omp.h>
#include "../order.h"

int value;

int main(void) {
#pragma omp parallel num_threads(2)
    if (omp_get_thread_num() == 0) {
#pragma omp critical
        value = 1;
        dh_done(1);
    } else {
        dh_step(1);
#pragma omp critical
        dh_use(value);
    }
    return 0;
}
