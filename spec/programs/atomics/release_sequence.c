// A read-modify-write of another thread continues a release sequence; a store of its own ends it.
#include <pthread.h>
#include <stdatomic.h>
#include "../order.h"

int value;
atomic_int flag;

static void *writer(void *nothing) {
    value = 1; //~ race 1: write
    atomic_store_explicit(&flag, 1, memory_order_release);
    dh_done(1);
    return nothing;
}

static void *meddler(void *nothing) {
    dh_step(1);
    atomic_store_explicit(&flag, 2, memory_order_relaxed);
    dh_done(2);
    return nothing;
}

int main(void) {
    pthread_t one, other;
    pthread_create(&one, 0, writer, 0);
    pthread_create(&other, 0, meddler, 0);
    dh_step(2);
    if (atomic_load_explicit(&flag, memory_order_acquire) == 2)
        dh_use(value); //~ race 1: read
    pthread_join(one, 0);
    pthread_join(other, 0);
    return 0;
}
