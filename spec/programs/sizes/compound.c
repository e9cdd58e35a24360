// A compound assignment writes: it races with a read of another thread.
#include <pthread.h>
#include "../order.h"

int counter;

static void *incrementer(void *nothing) {
    counter++; //~ race 1: write
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, incrementer, 0);
    dh_step(1);
    dh_use(counter); //~ race 1: read
    pthread_join(thread, 0);
    return 0;
}
