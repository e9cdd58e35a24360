// Functions called at exit are watched: they run in the thread that calls exit.
#include <pthread.h>
#include <stdlib.h>
#include "../order.h"

int value;
pthread_t thread;

static void report(void) {
    dh_use(value); //~ race 1: read
    pthread_join(thread, 0);
}

static void *writer(void *nothing) {
    value = 1; //~ race 1: write
    dh_done(1);
    return nothing;
}

int main(void) {
    atexit(report);
    pthread_create(&thread, 0, writer, 0);
    dh_step(1);
    return 0;
}
