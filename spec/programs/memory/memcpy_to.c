// memcpy writes to every byte of its target.
#include <pthread.h>
#include <string.h>
#include "../order.h"

char from[64], to[64];
unsigned long size = 40;

static void *copier(void *nothing) {
    memcpy(to, from, size); //~ race 1: write
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, copier, 0);
    dh_step(1);
    dh_use(to[39]); //~ race 1: read
    pthread_join(thread, 0);
    return 0;
}
