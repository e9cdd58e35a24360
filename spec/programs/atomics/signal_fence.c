// A signal fence binds the compiler alone: between threads it orders nothing.
#include <pthread.h>
#include <stdatomic.h>
#include "../order.h"

int value;
atomic_int flag;

static void *writer(void *nothing) {
    value = 1; //~ race 1: write
    atomic_signal_fence(memory_order_release);
    atomic_store_explicit(&flag, 1, memory_order_relaxed);
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, writer, 0);
    dh_step(1);
    if (atomic_load_explicit(&flag, memory_order_acquire))
        dh_use(value); //~ race 1: read
    pthread_join(thread, 0);
    return 0;
}
