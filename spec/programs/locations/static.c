// A static local is one variable for all threads.
//! location 1: global
#include <pthread.h>
#include "../order.h"

static __attribute__((noinline)) int *counter(void) {
    static int count;
    return &count;
}

static void *writer(void *nothing) {
    *counter() = 1; //~ race 1: write
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, writer, 0);
    dh_step(1);
    dh_use(*counter()); //~ race 1: read
    pthread_join(thread, 0);
    return 0;
}
