// The ordered blocks of a loop come one after the other, the rest of its iterations does not.
//! flags: -fopenmp
#include "../order.h"

int value;

int main(void) {
#pragma omp parallel for num_threads(2) schedule(static, 1) ordered
    for (int i = 0; i < 2; i++) {
        if (i == 1)
            dh_step(1);
        {
            if (i == 0)
                value = 1; //~ race 1: write
            else
                dh_use(value); //~ race 1: read
        }
        if (i == 0)
            dh_done(1);
#pragma omp ordered
        dh_use(i);
    }
    return 0;
}
