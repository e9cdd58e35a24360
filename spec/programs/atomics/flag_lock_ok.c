// A lock made of an atomic_flag orders if it acquires and releases.
#include <pthread.h>
#include <stdatomic.h>
#include "../order.h"

int value;
atomic_flag flag = ATOMIC_FLAG_INIT;

static void *writer(void *nothing) {
    while (atomic_flag_test_and_set_explicit(&flag, memory_order_acquire))
        continue;
    value = 1;
    atomic_flag_clear_explicit(&flag, memory_order_release);
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, writer, 0);
    dh_step(1);
    while (atomic_flag_test_and_set_explicit(&flag, memory_order_acquire))
        continue;
    value = 2;
    atomic_flag_clear_explicit(&flag, memory_order_release);
    pthread_join(thread, 0);
    return 0;
}
