// A store to all of an atomic ends what was released of a part of it; a read-modify-write passes that on.
#include <pthread.h>
#include <stdint.h>
#include "../order.h"

int value;
static union {
    uint64_t all;
    uint8_t byte[8];
} word;

static void *writer(void *nothing) {
    value = 1;
    __atomic_store_n(&word.byte[3], 1, __ATOMIC_RELEASE);
    dh_done(1);
    return nothing;
}

static void *meddler(void *nothing) {
    dh_step(1);
    __atomic_fetch_or(&word.all, ~(uint64_t)0, __ATOMIC_RELAXED);
    dh_done(2);
    return nothing;
}

int main(void) {
    pthread_t one, other;
    pthread_create(&one, 0, writer, 0);
    pthread_create(&other, 0, meddler, 0);
    dh_step(2);
    if (__atomic_load_n(&word.byte[3], __ATOMIC_ACQUIRE) && __atomic_load_n(&word.byte[6], __ATOMIC_ACQUIRE))
        dh_use(value);
    pthread_join(one, 0);
    pthread_join(other, 0);
    return 0;
}
