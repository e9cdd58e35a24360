// An atomic construct does not protect from an access that is none.
//! flags: -fopenmp
#include <omp.h>
#include "../order.h"

int value;

int main(void) {
#pragma omp parallel num_threads(2)
    if (omp_get_thread_num() == 0) {
#pragma omp atomic
        value += 1; //~ race 1: atomic write
        dh_done(1);
    } else {
        int seen;
        dh_step(1);
        seen = value; //~ race 1: read
        dh_use(seen);
    }
    return 0;
}
