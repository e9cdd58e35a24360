// A relaxed operation that its thread made before in the same moment orders as the first did: a store ends what others released, and what reads as well passes it on.
#include <pthread.h>
#include <stdatomic.h>
#include "../order.h"

int value;
int other;
_Alignas(8) atomic_int flag;
_Alignas(8) atomic_int count;

static void *writer(void *nothing) {
    dh_step(1);
    value = 1; //~ race 1: write
    other = 1; //~ race 2: write
    atomic_store_explicit(&flag, 2, memory_order_release);
    atomic_fetch_add_explicit(&count, 1, memory_order_release);
    dh_done(2);
    return nothing;
}

static void *reader(void *nothing) {
    dh_step(3);
    if (atomic_load_explicit(&flag, memory_order_acquire) == 3)
        dh_use(value); //~ race 1: read
    return nothing;
}

int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], 0, writer, 0);
    pthread_create(&threads[1], 0, reader, 0);
    atomic_store_explicit(&flag, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
    dh_done(1);
    dh_step(2);
    atomic_store_explicit(&flag, 3, memory_order_relaxed);
    if (atomic_fetch_add_explicit(&count, 1, memory_order_relaxed) == 2)
        dh_use(other); //~ race 2: read
    dh_done(3);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    return 0;
}
