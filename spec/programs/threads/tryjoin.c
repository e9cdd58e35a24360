// A pthread_tryjoin_np that finds the thread still running has joined nothing.
#define _GNU_SOURCE
#include <pthread.h>
#include "../order.h"

int value;

static void *writer(void *nothing) {
    value = 1; //~ race 1: write
    dh_done(1);
    dh_step(2);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, writer, 0);
    dh_step(1);
    int busy = pthread_tryjoin_np(thread, 0);
    dh_use(value); //~ race 1: read
    dh_done(2);
    pthread_join(thread, 0);
    return busy == 0;
}
