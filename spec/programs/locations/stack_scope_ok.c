// Of the variables that share their bytes of the stack, the one in scope is told.
//! location 1: stack late
#include <pthread.h>
#include "../order.h"

static void *writer(void *local) {
    *(int *)local = 2;
    dh_done(1);
    return 0;
}

int main(void) {
    pthread_t thread;
    for (int round = 0; round < 1; round++) {
        int early = round;
        dh_use(*(volatile int *)&early);
    }
    for (int round = 0; round < 1; round++) {
        int late = round;
        pthread_create(&thread, 0, writer, &late);
        dh_step(1);
        pthread_join(thread, 0);
        dh_use(late);
    }
    return 0;
}
