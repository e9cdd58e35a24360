// A lock orders those that take it, however often, and nobody else.
//! flags: -fopenmp
#include <omp.h>
#include "../order.h"

int value;
omp_nest_lock_t one, other;

int main(void) {
    omp_init_nest_lock(&one);
    omp_init_nest_lock(&other);
#pragma omp parallel num_threads(2)
    if (omp_get_thread_num() == 0) {
        omp_set_nest_lock(&one);
        omp_set_nest_lock(&one);
        value = 1; //~ race 1: write
        omp_unset_nest_lock(&one);
        omp_unset_nest_lock(&one);
        dh_done(1);
    } else {
        dh_step(1);
        while (!omp_test_nest_lock(&other))
            ;
        dh_use(value); //~ race 1: read
        omp_unset_nest_lock(&other);
    }
    omp_destroy_nest_lock(&one);
    omp_destroy_nest_lock(&other);
    return 0;
}
