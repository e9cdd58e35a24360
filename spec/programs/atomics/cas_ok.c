// A compare-exchange that succeeds releases and acquires as its success order says.
#include <pthread.h>
#include <stdatomic.h>
#include "../order.h"

int value;
atomic_int flag;

static int replace(int old, int new, memory_order success) {
    return atomic_compare_exchange_strong_explicit(&flag, &old, new, success, memory_order_relaxed);
}

static void *writer(void *nothing) {
    value = 1;
    replace(0, 1, memory_order_release);
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, writer, 0);
    dh_step(1);
    int replaced = replace(1, 2, memory_order_acquire);
    dh_use(value);
    pthread_join(thread, 0);
    return replaced ? 0 : 1;
}
