// A compare-exchange that fails only reads: it does not race with a plain read.
#include <pthread.h>
#include <stdatomic.h>
#include "../order.h"

int value = 1;

static void *reader(void *nothing) {
    dh_use(value); //~ race 1: read
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    int old = 1;
    pthread_create(&thread, 0, reader, 0);
    dh_step(1);
    __atomic_compare_exchange_n(&value, &old, 3, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); //~ race 1: atomic write
    pthread_join(thread, 0);
    return 0;
}
