// A release store and an acquire load order nothing if they speak of different objects.
#include <pthread.h>
#include <stdatomic.h>
#include "../order.h"

int value;
atomic_int one, other;

static void *writer(void *nothing) {
    value = 1;
    atomic_store_explicit(&one, 1, memory_order_release);
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, writer, 0);
    dh_step(1);
    atomic_load_explicit(&one, memory_order_acquire);
    dh_use(value);
    pthread_join(thread, 0);
    return 0;
}
