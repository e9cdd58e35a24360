// A plain access to one byte of an atomic races with it; one to the byte beside it does not.
#include <pthread.h>
#include <stdatomic.h>
#include "../order.h"

union { _Atomic int number; char bytes[8]; } both;

static void *writer(void *nothing) {
    atomic_store(&both.number, 1);
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, writer, 0);
    dh_step(1);
    dh_use(both.bytes[4]);
    pthread_join(thread, 0);
    return 0;
}
