// A frame's locals lie where an earlier call's lay: one thread's own calls do not race.
#include <pthread.h>
#include "../order.h"

int value;

static __attribute__((noinline)) void give(int *local) {
    *local = 1;
}

static __attribute__((noinline)) void call(void) {
    int local;
    give(&local);
    dh_use(local);
}

static void *worker(void *nothing) {
    call();
    value = 1; //~ race 1: write
    call();
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    call();
    pthread_create(&thread, 0, worker, 0);
    call();
    dh_step(1);
    dh_use(value); //~ race 1: read
    pthread_join(thread, 0);
    return 0;
}
