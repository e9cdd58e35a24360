// The lock of a stream orders what is done under it, however often it is taken.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include "../order.h"

int value, other;

static void *writer(void *nothing) {
    flockfile(stderr);
    if (ftrylockfile(stderr) == 0)
        funlockfile(stderr);
    value = 1; //~ race 1: write
    other = 1; //~ race 2: write
    funlockfile(stderr);
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, writer, 0);
    dh_step(1);
    if (ftrylockfile(stdout) != 0)
        return 1;
    dh_use(value); //~ race 1: read
    funlockfile(stdout);
    flockfile(stdout);
    dh_use(other); //~ race 2: read
    funlockfile(stdout);
    pthread_join(thread, 0);
    return 0;
}
