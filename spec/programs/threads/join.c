// Only a join shows what a thread wrote: that it has written it long ago orders nothing.
#include <pthread.h>
#include "../order.h"

int value;

static void *writer(void *nothing) {
    value = 1; //~ race 1: write
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, writer, 0);
    dh_step(1);
    dh_use(value); //~ race 1: read
    pthread_join(thread, 0);
    return 0;
}
