// Nothing orders the last write of a detached thread before anything, though the thread is gone.
#include <pthread.h>
#include "../order.h"

int value;

static void *writer(void *nothing) {
    value = 1; //~ race 1: write
    dh_leave(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, writer, 0);
    pthread_detach(thread);
    dh_gone(1);
    dh_use(value); //~ race 1: read
    return 0;
}
