/* Atomics-heavy: counters, a stack by compare-and-swap, and a ticket lock around plain data.
 *
 * Nearly every event takes part in the order of the run. SIZE is the number of rounds of all threads
 * together. A thread that has to wait gives the processor away after some tries, so that the number
 * of accesses does not grow with the machine's load. */
#include "kernel.h"

#include <sched.h>
#include <stdatomic.h>

enum { COUNTERS = 16, NODES = 64, CELLS = 24, TRIES = 64, NONE = 0 };

static _Atomic uint64_t counters[COUNTERS];
static _Atomic uint32_t next_ticket, serving;
static uint64_t cells[CELLS];

/* The stack holds numbers of nodes from 1. The upper half of its top counts the changes, so that a top
 * that came back is not taken for one that stayed. */
static _Atomic uint64_t top;
static struct {
    _Atomic uint32_t below;
    uint64_t visits;
} nodes[NODES + 1];

struct part {
    uint64_t seed, rounds;
};

static void push(uint32_t node) {
    uint64_t old = atomic_load_explicit(&top, memory_order_relaxed), new;
    do {
        atomic_store_explicit(&nodes[node].below, (uint32_t)old, memory_order_relaxed);
        new = ((old >> 32) + 1) << 32 | node;
    } while (!atomic_compare_exchange_weak_explicit(&top, &old, new, memory_order_release,
                                                    memory_order_relaxed));
}

static uint32_t pop(void) {
    uint64_t old = atomic_load_explicit(&top, memory_order_acquire), new;
    do {
        if ((uint32_t)old == NONE) return NONE;
        const uint32_t below = atomic_load_explicit(&nodes[(uint32_t)old].below, memory_order_relaxed);
        new = ((old >> 32) + 1) << 32 | below;
    } while (!atomic_compare_exchange_weak_explicit(&top, &old, new, memory_order_acq_rel,
                                                    memory_order_acquire));
    return (uint32_t)old;
}

static void add_to_cells(uint64_t word) {
    const uint32_t ticket = atomic_fetch_add_explicit(&next_ticket, 1, memory_order_relaxed);
    for (unsigned tries = 0; atomic_load_explicit(&serving, memory_order_acquire) != ticket; tries++) {
        if (tries >= TRIES) sched_yield();
    }
    for (unsigned i = 0; i < CELLS; i++) cells[i] += word >> i % 8;
    atomic_store_explicit(&serving, ticket + 1, memory_order_release);
}

static void *work(void *argument) {
    const struct part *part = argument;
    uint64_t state = part->seed;
    for (uint64_t i = 0; i < part->rounds; i++) {
        const uint64_t word = random_next(&state);
        atomic_fetch_add_explicit(&counters[word % COUNTERS], word >> 40, memory_order_relaxed);
        atomic_fetch_add(&counters[(word >> 8) % COUNTERS], 1);
        const uint32_t node = pop();
        if (node != NONE) {
            nodes[node].visits += word >> 60;
            push(node);
        } else {
            atomic_fetch_add(&counters[0], word >> 60); /* cannot be while nodes outnumber threads */
        }
        if (i % 8 == 0) add_to_cells(word);
    }
    return NULL;
}

int main(int argc, char **argv) {
    const struct settings settings = settings_from(argc, argv, 1600000);
    struct part parts[MOST_THREADS];
    for (uint32_t node = 1; node <= NODES; node++) push(node);
    for (unsigned i = 0; i < settings.threads; i++) {
        parts[i] = (struct part){.seed = mixed(i + 1), .rounds = settings.size / settings.threads};
    }
    run_threads(settings.threads, work, parts, sizeof *parts);

    /* Which node a round visits depends on the schedule, the sum of all visits does not. */
    uint64_t checksum = 0, visits = 0;
    for (unsigned i = 0; i < COUNTERS; i++) checksum = mixed(checksum + counters[i]);
    for (unsigned i = 0; i < CELLS; i++) checksum = mixed(checksum + cells[i]);
    for (uint32_t node = 1; node <= NODES; node++) visits += nodes[node].visits;
    print_checksum("atomics", settings, mixed(checksum + visits));
    return 0;
}
