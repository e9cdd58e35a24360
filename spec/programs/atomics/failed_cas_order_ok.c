// A compare-exchange that fails acquires as its failure order says, and never releases.
#include <pthread.h>
#include <stdatomic.h>
#include "../order.h"

int value;
atomic_int flag;

static void *writer(void *nothing) {
    value = 1;
    atomic_store_explicit(&flag, 1, memory_order_release);
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    int old = 5;
    pthread_create(&thread, 0, writer, 0);
    dh_step(1);
    int replaced = atomic_compare_exchange_strong_explicit(&flag, &old, 6, memory_order_acq_rel,
                                                           memory_order_acquire);
    dh_use(value);
    pthread_join(thread, 0);
    return replaced ? 1 : 0;
}
