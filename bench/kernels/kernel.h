/* What all kernels share: their arguments, starting and joining threads, numbers that look random.
 *
 * Every kernel is called `KERNEL [THREADS [SIZE]]` and prints one line with a checksum that depends on
 * neither the schedule nor the tool that it was built with. Kernels have no races. */
#ifndef DEADHEAT_BENCH_KERNEL_H
#define DEADHEAT_BENCH_KERNEL_H

#include <inttypes.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_THREADS = 64 };

struct settings {
    unsigned threads;
    size_t size;
};

static inline struct settings settings_from(int argc, char **argv, size_t size) {
    struct settings settings = {2, size};
    if (argc > 1) settings.threads = (unsigned)strtoul(argv[1], NULL, 10);
    if (argc > 2) settings.size = strtoull(argv[2], NULL, 10);
    if (settings.threads < 1 || settings.threads > MOST_THREADS || settings.size < 1) {
        fprintf(stderr, "usage: %s [THREADS (1 to %d) [SIZE]]\n", argv[0], MOST_THREADS);
        exit(2);
    }
    return settings;
}

/* Starts `threads` threads at `body`, each given a pointer to its own element, and joins them. */
static inline void run_threads(unsigned threads, void *(*body)(void *), void *first, size_t element) {
    pthread_t handles[MOST_THREADS];
    for (unsigned i = 0; i < threads; i++) {
        if (pthread_create(&handles[i], NULL, body, (char *)first + i * element) != 0) {
            fprintf(stderr, "cannot start a thread\n");
            exit(1);
        }
    }
    for (unsigned i = 0; i < threads; i++) pthread_join(handles[i], NULL);
}

/* Steps of splitmix64: the same numbers everywhere, from a seed of one word. */
static inline uint64_t mixed(uint64_t value) {
    value ^= value >> 30;
    value *= 0xbf58476d1ce4e5b9u;
    value ^= value >> 27;
    value *= 0x94d049bb133111ebu;
    return value ^ value >> 31;
}

static inline uint64_t random_next(uint64_t *state) {
    *state += 0x9e3779b97f4a7c15u;
    return mixed(*state);
}

static inline void *must(void *memory) {
    if (memory == NULL) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
    return memory;
}

static inline void print_checksum(const char *name, struct settings settings, uint64_t checksum) {
    printf("%s threads=%u size=%zu checksum=%016" PRIx64 "\n", name, settings.threads, settings.size,
           checksum);
}

#endif
