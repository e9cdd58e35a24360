// A thread that is let go need not be joined.
#include <pthread.h>
#include "../order.h"

static void *short_lived(void *nothing) {
    dh_leave(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, short_lived, 0);
    pthread_detach(thread);
    dh_gone(1);
    return 0;
}
