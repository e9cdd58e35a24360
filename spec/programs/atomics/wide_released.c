// What was released with an atomic of sixteen bytes is seen by who acquires its second half.
//! flags: -mcx16 -latomic
#include <pthread.h>
#include <stdint.h>
#include "../order.h"

int value;
static _Alignas(16) union {
    unsigned __int128 whole;
    uint64_t half[2];
} pair;

static void *writer(void *nothing) {
    value = 1; //~ race 1: write
    __atomic_store_n(&pair.whole, (unsigned __int128)1 << 64 | 1, __ATOMIC_RELEASE);
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, writer, 0);
    dh_step(1);
    if (__atomic_load_n(&pair.half[1], __ATOMIC_RELAXED))
        dh_use(value); //~ race 1: read
    pthread_join(thread, 0);
    return 0;
}
