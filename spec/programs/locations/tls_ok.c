// A thread-local variable races once another thread knows its address.
//! location 1: tls
#include <pthread.h>
#include "../order.h"

_Thread_local int own;

static void *writer(void *theirs) {
    *(int *)theirs = 1;
    own = 1;
    dh_done(1);
    return 0;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, writer, &own);
    dh_step(1);
    pthread_join(thread, 0);
    dh_use(own);
    return 0;
}
