// The halves of an atomic of sixteen bytes are counted by themselves while both are counted at once: no change is lost.
//! flags: -mcx16 -latomic
#include <pthread.h>
#include <stdint.h>
#include "../order.h"

enum { ROUNDS = 2000 };

static _Alignas(16) union {
    unsigned __int128 whole;
    uint64_t halves[2];
} count;

static void *count_half(void *half) {
    for (int i = 0; i < ROUNDS; i++)
        __atomic_fetch_add((uint64_t *)half, 1, __ATOMIC_RELAXED);
    return 0;
}

static void *count_both(void *nothing) {
    const unsigned __int128 one_each = (unsigned __int128)1 << 64 | 1;
    for (int i = 0; i < ROUNDS; i++) {
        unsigned __int128 old = 0, new;
        do
            new = old + one_each;
        while (!__atomic_compare_exchange_n(&count.whole, &old, new, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    }
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t threads[3];
    pthread_create(&threads[0], 0, count_half, &count.halves[0]);
    pthread_create(&threads[1], 0, count_half, &count.halves[1]);
    pthread_create(&threads[2], 0, count_both, 0);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    dh_step(1);
    pthread_join(threads[2], 0);
    const uint64_t first = __atomic_load_n(&count.halves[0], __ATOMIC_RELAXED);
    const uint64_t second = count.halves[1];
    return first != 2 * ROUNDS || second != 2 * ROUNDS;
}
