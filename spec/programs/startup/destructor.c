// Destructors that run after main are watched.
#include <pthread.h>
#include "../order.h"

int value;
pthread_t thread;

__attribute__((destructor)) static void finish(void) {
    value = 2; //~ race 1: write
    pthread_join(thread, 0);
}

static void *writer(void *nothing) {
    value = 1; //~ race 1: write
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_create(&thread, 0, writer, 0);
    dh_step(1);
    return 0;
}
