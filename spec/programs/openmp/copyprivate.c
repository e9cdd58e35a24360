// A value that is handed out of a single block takes the order with it.
//! flags: -fopenmp
#include "../order.h"

int value;

int main(void) {
#pragma omp parallel num_threads(2)
    {
        int mine = 0, given = 0;
#pragma omp single nowait
        {
            value = 1; //~ race 1: write
            mine = 1;
            given = 1;
            dh_done(1);
        }
        dh_use(given);
        if (!mine) {
            dh_step(1);
            dh_use(value); //~ race 1: read
        }
    }
    return 0;
}
