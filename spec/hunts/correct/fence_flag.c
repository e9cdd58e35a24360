// A relaxed flag between a release fence and an acquire fence hands a plain value over.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include "../hunt.h"

int value;
atomic_int ready;

static void *writer(void *nothing) {
    value = 7;
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&ready, 1, memory_order_relaxed);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, writer, 0);
    while (!atomic_load_explicit(&ready, memory_order_relaxed))
        sched_yield();
    atomic_thread_fence(memory_order_acquire);
    USE(value);
    value = 8;
    pthread_join(thread, 0);
    return 0;
}
