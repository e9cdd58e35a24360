// Two threads that had the same pthread_t one after the other are two threads all the same.
#include <pthread.h>
#include "../order.h"

int value;

static void *writer(void *nothing) {
    value = 1; //~ race 1: write
    dh_leave(1);
    return nothing;
}

static void *successor(void *nothing) {
    value = 2; //~ race 1: write
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, writer, 0);
    pthread_detach(thread);
    dh_gone(1);
    pthread_create(&thread, 0, successor, 0);
    pthread_join(thread, 0);
    return 0;
}
