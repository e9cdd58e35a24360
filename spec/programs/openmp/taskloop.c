// A taskloop is a group of tasks, unless it says that it is none.
//! flags: -fopenmp
#include "../order.h"

int value;

int main(void) {
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp taskloop grainsize(1) nogroup
        for (int i = 0; i < 1; i++) {
            value = 1; //~ race 1: write
            dh_done(1);
        }
        dh_step(1);
        dh_use(value); //~ race 1: read
    }
    return 0;
}
