// A store to half of an atomic ends what was released of that half, and leaves what was released of the other.
#include <pthread.h>
#include <stdint.h>
#include "../order.h"

int value;
static union {
    uint64_t both;
    uint32_t half[2];
} word;

static void *writer(void *nothing) {
    value = 1;
    __atomic_store_n(&word.both, (uint64_t)1 << 32 | 1, __ATOMIC_RELEASE);
    dh_done(1);
    return nothing;
}

static void *meddler(void *nothing) {
    dh_step(1);
    __atomic_store_n(&word.half[1], 2, __ATOMIC_RELAXED);
    dh_done(2);
    return nothing;
}

int main(void) {
    pthread_t one, other;
    pthread_create(&one, 0, writer, 0);
    pthread_create(&other, 0, meddler, 0);
    dh_step(2);
    if (__atomic_load_n(&word.half[0], __ATOMIC_ACQUIRE))
        dh_use(value);
    pthread_join(one, 0);
    pthread_join(other, 0);
    return 0;
}
