// The iterations of a parallel loop are not ordered: what each of them adds to needs a reduction.
//! flags: -fopenmp
#include "../order.h"

int sum;

int main(void) {
#pragma omp parallel for num_threads(2) schedule(static, 1)
    for (int i = 0; i < 2; i++) {
        if (i == 0) {
            sum = 1; //~ race 1: write
            dh_done(1);
        } else {
            dh_step(1);
            dh_use(sum); //~ race 1: read
        }
    }
    dh_use(sum);
    return 0;
}
