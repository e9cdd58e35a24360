// Who leaves a single block comes after it, unless nobody waits there.
//! flags: -fopenmp
#include "../order.h"

int value;

int main(void) {
#pragma omp parallel num_threads(2)
    {
        int mine = 0;
#pragma omp single
        {
            value = 1;
            mine = 1;
            dh_done(1);
        }
        if (!mine) {
            dh_step(1);
            dh_use(value);
        }
    }
    return 0;
}
