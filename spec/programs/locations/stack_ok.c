// A local variable races once another thread knows its address.
//! location 1: stack local
#include <pthread.h>
#include "../order.h"

static void *writer(void *local) {
    *(int *)local = 1;
    dh_done(1);
    return 0;
}

int main(void) {
    pthread_t thread;
    int local = 0;
    pthread_create(&thread, 0, writer, &local);
    dh_step(1);
    pthread_join(thread, 0);
    dh_use(local);
    return 0;
}
