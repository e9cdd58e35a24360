// Atomics of one, two, four and eight bytes synchronise alike.
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include "../order.h"

int values[4];
_Atomic uint8_t one;
_Atomic uint16_t two;
_Atomic uint32_t four;
_Atomic uint64_t eight;

static void *writer(void *nothing) {
    values[0] = values[1] = values[2] = values[3] = 1;
    atomic_store_explicit(&one, 1, memory_order_release);
    atomic_store_explicit(&two, 1, memory_order_release);
    atomic_store_explicit(&four, 1, memory_order_release);
    atomic_store_explicit(&eight, 1, memory_order_release);
    dh_done(1);
    return nothing;
}

static void *reader(void *nothing) {
    dh_step(1);
    dh_use(atomic_load_explicit(&one, memory_order_acquire));
    dh_use(values[0]);
    return nothing;
}

int main(void) {
    pthread_t thread, other;
    pthread_create(&thread, 0, writer, 0);
    pthread_create(&other, 0, reader, 0);
    dh_step(1);
    dh_use(atomic_load_explicit(&two, memory_order_acquire));
    dh_use(values[1]);
    dh_use(atomic_load_explicit(&four, memory_order_acquire));
    dh_use(values[2]);
    dh_use(atomic_load_explicit(&eight, memory_order_acquire));
    dh_use(values[3]);
    pthread_join(thread, 0);
    pthread_join(other, 0);
    return 0;
}
