// Atomics by which two threads hand on what they wrote, behind so many threads that ran all at once before. One thing is not handed on.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include "../../../../spec/programs/order.h"

enum { COUNT = 40000 };
static struct {
    _Atomic long number;
    long written;
} pairs[COUNT];
static pthread_barrier_t all, turn;
long shared;

static void *early(void *at) {
    pthread_barrier_wait(&all);
    pairs[(long)at].written = 1;
    return 0;
}

static void *late(void *which) {
    long odd = (long)which;
    for (long at = 0; at < COUNT; at++) {
        if (at % 2 == odd) {
            pairs[at].written = at;
            atomic_fetch_add_explicit(&pairs[at].number, 1, memory_order_acq_rel);
        }
        if (at % 64 == 0) pthread_barrier_wait(&turn);
    }
    pthread_barrier_wait(&turn);
    for (long at = 0; at < COUNT; at++)
        if (atomic_load_explicit(&pairs[at].number, memory_order_acquire) != 0) dh_use(pairs[at].written);
    shared = odd;
    return 0;
}

int main(int argc, char **argv) {
    long many = atol(argv[argc - 1]);
    pthread_t threads[1000];
    pthread_barrier_init(&all, 0, many);
    pthread_barrier_init(&turn, 0, 2);
    for (long at = 0; at < many; at++) pthread_create(&threads[at], 0, early, (void *)at);
    for (long at = 0; at < many; at++) pthread_join(threads[at], 0);
    for (long at = 0; at < 2; at++) pthread_create(&threads[at], 0, late, (void *)at);
    for (long at = 0; at < 2; at++) pthread_join(threads[at], 0);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("peak %ld\n", usage.ru_maxrss);
    return 0;
}
