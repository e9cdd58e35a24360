// A process may end by an exit of any of its threads, while the first one waits for it in vain.
#include <pthread.h>
#include <stdlib.h>
#include "../order.h"

int value;

static void *ender(void *nothing) {
    dh_step(1);
    dh_use(value); //~ race 1: read
    exit(0);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, ender, 0);
    value = 1; //~ race 1: write
    dh_done(1);
    pthread_join(thread, 0);
    return 1;
}
