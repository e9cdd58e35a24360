// A ticket lock is tried on as one word, and given back by a store to half of it.
#include <pthread.h>
#include <stdint.h>
#include "../order.h"

int value;
static union {
    uint32_t both;
    struct { uint16_t next, served; } part;
} lock;

static void *holder(void *nothing) {
    const uint16_t mine = __atomic_fetch_add(&lock.part.next, 1, __ATOMIC_RELAXED);
    while (__atomic_load_n(&lock.part.served, __ATOMIC_ACQUIRE) != mine) {}
    value = 1; //~ race 1: write
    __atomic_store_n(&lock.part.served, mine + 1, __ATOMIC_RELEASE);
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, holder, 0);
    dh_step(1);
    uint32_t free = 1 << 16 | 1, taken = 1 << 16 | 2;
    if (__atomic_compare_exchange_n(&lock.both, &free, taken, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        dh_use(value); //~ race 1: read
    pthread_join(thread, 0);
    return 0;
}
