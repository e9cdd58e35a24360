// A task that was detached is over when its event is fulfilled, and what came before that is then known.
//! flags: -fopenmp
#include <omp.h>
#include "../order.h"

int value;
omp_event_handle_t shared;

int main(void) {
#pragma omp parallel num_threads(2)
    if (omp_get_thread_num() == 0) {
        omp_event_handle_t event;
#pragma omp task detach(event)
        dh_done(3);
#pragma omp atomic write
        shared = event;
        dh_done(1);
#pragma omp taskwait
        dh_step(2);
        dh_use(value); //~ race 1: read
    } else {
        omp_event_handle_t event;
        dh_step(1);
#pragma omp atomic read
        event = shared;
        dh_step(3);
        omp_fulfill_event(event);
        value = 1; //~ race 1: write
        dh_done(2);
    }
    return 0;
}
