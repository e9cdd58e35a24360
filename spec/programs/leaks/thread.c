// A thread that has ended is joined or detached before the process ends.
#include <pthread.h>
#include "../order.h"

static void *short_lived(void *nothing) {
    dh_leave(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, short_lived, 0); //~ finding 1: thread-leak
    dh_gone(1);
    return 0;
}
