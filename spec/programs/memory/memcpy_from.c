// memcpy reads every byte of its source.
#include <pthread.h>
#include <string.h>
#include "../order.h"

char from[64], to[64];
unsigned long size = 40;

static void *copier(void *nothing) {
    memcpy(to, from, size); //~ race 1: read
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, copier, 0);
    dh_step(1);
    from[39] = 1; //~ race 1: write
    pthread_join(thread, 0);
    return 0;
}
