// pthread_clockjoin_np joins as pthread_join does.
#define _GNU_SOURCE
#include <pthread.h>
#include <time.h>
#include "../order.h"

int value;

static void *writer(void *nothing) {
    value = 1; //~ race 1: write
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    struct timespec until = {1L << 40, 0};
    pthread_create(&thread, 0, writer, 0);
    dh_step(1);
    dh_use(value); //~ race 1: read
    pthread_clockjoin_np(thread, 0, CLOCK_MONOTONIC, &until);
    return 0;
}
