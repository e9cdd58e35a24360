// A flag of acquire and release hands a plain value over.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include "../hunt.h"

int value;
atomic_int ready;

static void *writer(void *nothing) {
    value = 7;
    atomic_store_explicit(&ready, 1, memory_order_release);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, writer, 0);
    while (!atomic_load_explicit(&ready, memory_order_acquire))
        sched_yield();
    USE(value);
    value = 8;
    pthread_join(thread, 0);
    return 0;
}
