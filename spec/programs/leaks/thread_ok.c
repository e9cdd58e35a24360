// A thread that has ended is joined or detached before the process ends.
#include <pthread.h>
#include "../order.h"

static void *short_lived(void *nothing) {
    dh_leave(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, short_lived, 0);
    dh_gone(1);
    pthread_join(thread, 0);
    return 0;
}
