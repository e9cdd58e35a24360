// Which thread runs an iteration of a dynamic loop orders nothing; its end does.
//! flags: -fopenmp
#include "../order.h"

int value;

int main(void) {
#pragma omp parallel num_threads(2)
    {
        int mine = 0;
#pragma omp for schedule(dynamic, 1) nowait
        for (int i = 0; i < 2; i++) {
            // Neither thread runs both.
            dh_done(2 + i);
            dh_step(2 + (1 - i));
            if (i == 0) {
                value = 1; //~ race 1: write
                mine = 1;
                dh_done(1);
            }
        }
        if (!mine) {
            dh_step(1);
            dh_use(value); //~ race 1: read
        }
    }
    return 0;
}
