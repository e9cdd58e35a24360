// A thread may go on after the first thread has ended by pthread_exit, and may join that one too.
#include <pthread.h>
#include "../order.h"

int value;
pthread_t first;

static void *survivor(void *nothing) {
    dh_step(1);
    dh_use(value); //~ race 1: read
    return nothing;
}

int main(void) {
    pthread_t thread;
    first = pthread_self();
    pthread_create(&thread, 0, survivor, 0);
    value = 1; //~ race 1: write
    dh_done(1);
    pthread_exit(0);
}
