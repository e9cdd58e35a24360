// Arrays of atomics that come and go, each of another size, so that the C library gives each other memory; two threads count in each.
#include <stdatomic.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

static pthread_barrier_t turn;
static atomic_long *counters;
static int count, rounds;

static void *worker(void *nothing) {
    for (int round = 0; round < rounds; round++) {
        pthread_barrier_wait(&turn);
        for (int at = 0; at < count; at++) counters[at]++;
        pthread_barrier_wait(&turn);
    }
    return nothing;
}

int main(int argc, char **argv) {
    rounds = atoi(argv[argc - 1]);
    pthread_barrier_init(&turn, 0, 2);
    pthread_t thread;
    pthread_create(&thread, 0, worker, 0);
    for (int round = 0; round < rounds; round++) {
        count = 50000 + round * 7919 % 50000;
        counters = calloc(count, sizeof *counters);
        pthread_barrier_wait(&turn);
        for (int at = 0; at < count; at++) counters[at]++;
        pthread_barrier_wait(&turn);
        free(counters);
    }
    pthread_join(thread, 0);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("peak %ld\n", usage.ru_maxrss);
}
