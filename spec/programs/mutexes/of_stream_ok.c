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
    value = 1;
    other = 1;
    funlockfile(stderr);
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, writer, 0);
    dh_step(1);
    if (ftrylockfile(stderr) != 0)
        return 1;
    dh_use(value);
    funlockfile(stderr);
    flockfile(stderr);
    dh_use(other);
    funlockfile(stderr);
    pthread_join(thread, 0);
    return 0;
}
