// An iteration that waits for another comes after what that did before it said so.
//! flags: -fopenmp
#include "../order.h"

int value;

int main(void) {
#pragma omp parallel for num_threads(2) schedule(static, 1) ordered(1)
    for (int i = 0; i < 2; i++) {
        if (i == 1)
            dh_step(1);
#pragma omp ordered depend(sink : i - 1)
        if (i == 0)
            value = 1;
        else
            dh_use(value);
#pragma omp ordered depend(source)
        if (i == 0)
            dh_done(1);
    }
    return 0;
}
