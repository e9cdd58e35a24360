// An acquire fence makes an earlier relaxed load learn what was published.
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
    pthread_create(&thread, 0, writer, 0);
    dh_step(1);
    int seen = atomic_load_explicit(&flag, memory_order_relaxed);
    atomic_thread_fence(memory_order_acquire);
    if (seen)
        dh_use(value);
    pthread_join(thread, 0);
    return 0;
}
