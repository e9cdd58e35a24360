// Critical sections of one name exclude and order each other, those of different names do not.
//! flags: -fopenmp
#include <omp.h>
#include "../order.h"

int value;

int main(void) {
#pragma omp parallel num_threads(2)
    if (omp_get_thread_num() == 0) {
#pragma omp critical(first)
        value = 1; //~ race 1: write
        dh_done(1);
    } else {
        dh_step(1);
#pragma omp critical(second)
        dh_use(value); //~ race 1: read
    }
    return 0;
}
