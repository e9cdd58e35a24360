// memmove reads its source and writes its target, also where the two overlap.
#include <pthread.h>
#include <string.h>
#include "../order.h"

char buffer[64];
unsigned long size = 32;

static void *mover(void *nothing) {
    memmove(buffer + 8, buffer, size); //~ race 1: read, race 2: write
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, mover, 0);
    dh_step(1);
    buffer[0] = 1; //~ race 1: write
    dh_use(buffer[39]); //~ race 2: read
    pthread_join(thread, 0);
    return 0;
}
