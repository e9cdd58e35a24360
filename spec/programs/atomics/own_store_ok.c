// A later relaxed store of the same thread continues its release sequence, as C11 and C++11 have it, unless another thread's store came between.
#include <pthread.h>
#include <stdatomic.h>
#include "../order.h"

int value;
atomic_int flag;

static void *writer(void *nothing) {
    value = 1;
    atomic_store_explicit(&flag, 1, memory_order_release);
    atomic_fetch_add_explicit(&flag, 1, memory_order_relaxed);
    atomic_store_explicit(&flag, 2, memory_order_relaxed);
    atomic_store_explicit(&flag, 3, memory_order_relaxed);
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, writer, 0);
    dh_step(1);
    if (atomic_load_explicit(&flag, memory_order_acquire) == 3)
        dh_use(value);
    pthread_join(thread, 0);
    return 0;
}
