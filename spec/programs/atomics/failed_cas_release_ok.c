// A compare-exchange that fails publishes nothing, whatever its success order.
#include <pthread.h>
#include <stdatomic.h>
#include "../order.h"

int value;
atomic_int flag;

static void *writer(void *nothing) {
    int old = 0;
    value = 1;
    atomic_compare_exchange_strong(&flag, &old, 1);
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, writer, 0);
    dh_step(1);
    dh_use(atomic_load_explicit(&flag, memory_order_acquire));
    dh_use(value);
    pthread_join(thread, 0);
    return 0;
}
