/* Asks of its race, while it is shown, what the interface can tell. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include "order.h"

void *__tsan_get_current_report(void);
int __tsan_get_report_data(void *report, const char **what, int *count, int *stacks, int *accesses, int *locations,
                           int *mutexes, int *threads, int *unique, void **sleep, unsigned long room);
int __tsan_get_report_mop(void *report, unsigned long index, int *thread, void **address, int *size, int *writes,
                          int *atomic, void **stack, unsigned long room);
int __tsan_get_report_loc(void *report, unsigned long index, const char **kind, void **address, uintptr_t *start,
                          uintptr_t *size, int *thread, int *descriptor, int *suppressable, void **stack,
                          unsigned long room);
int __tsan_get_report_mutex(void *report, unsigned long index, uint64_t *number, void **address, int *destroyed,
                            void **stack, unsigned long room);
int __tsan_get_report_thread(void *report, unsigned long index, int *thread, uint64_t *kernel, int *running,
                             const char **name, int *creator, void **stack, unsigned long room);

struct pair {
    long first, second;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct pair *block;
static void *shown;

int main(void);

__attribute__((noinline)) static void *store(void *nothing) {
    pthread_mutex_lock(&mutex);
    block->second = 1;
    pthread_mutex_unlock(&mutex);
    dh_done(1);
    return nothing;
}

/* Whether a place is in a function and not in the other one, which may come behind it. */
static int within(void *place, uintptr_t function, uintptr_t other) {
    uintptr_t at = (uintptr_t)place;
    return at >= function && !(other > function && at >= other);
}

void __tsan_on_report(void *report) {
    const char *what;
    int count, stacks, accesses, locations, mutexes, threads, unique;
    shown = report;
    printf("current: %d\n", __tsan_get_current_report() == report);
    printf("answer: %d\n", __tsan_get_report_data(report, &what, &count, &stacks, &accesses, &locations, &mutexes,
                                                  &threads, &unique, 0, 0));
    printf("%s: %d accesses, %d locations, %d mutexes, %d threads\n", what, accesses, locations, mutexes, threads);
    for (int index = 0; index < accesses; index++) {
        int thread, size, writes, atomic;
        void *address, *stack[8] = {0};
        __tsan_get_report_mop(report, index, &thread, &address, &size, &writes, &atomic, stack, 8);
        printf("thread %d %s %d at %d, atomic %d, in main %d, in store %d\n", thread, writes ? "writes" : "reads", size,
               (int)((char *)address - (char *)block), atomic, within(stack[0], (uintptr_t)main, (uintptr_t)store),
               within(stack[0], (uintptr_t)store, (uintptr_t)main));
        uint64_t kernel;
        int running, creator;
        const char *name;
        printf("its thread: %d", __tsan_get_report_thread(report, index, &thread, &kernel, &running, &name, &creator, 0, 0));
        printf(", %d, running %d, known %d\n", thread, running, kernel != 0);
    }
    const char *kind;
    uintptr_t start, size;
    void *address;
    int thread, descriptor, suppressable;
    printf("location: %d", __tsan_get_report_loc(report, 0, &kind, &address, &start, &size, &thread, &descriptor,
                                                 &suppressable, 0, 0));
    printf(", %s of %d, the block %d, by %d\n", kind, (int)size, start == (uintptr_t)block, thread);
    uint64_t number;
    int destroyed;
    printf("mutex: %d", __tsan_get_report_mutex(report, 0, &number, &address, &destroyed, 0, 0));
    printf(", ours %d\n", address == &mutex);
    printf("beyond: %d %d %d\n", __tsan_get_report_mop(report, 2, 0, 0, 0, 0, 0, 0, 0),
           __tsan_get_report_loc(report, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0),
           __tsan_get_report_mutex(report, 1, 0, 0, 0, 0, 0));
}

__attribute__((noinline)) int main(void) {
    pthread_t thread;
    block = malloc(sizeof *block);
    pthread_create(&thread, 0, store, 0);
    dh_step(1);
    long seen = block->second;
    pthread_join(thread, 0);
    printf("seen %ld, shown now: %d, answer: %d\n", seen, __tsan_get_current_report() != 0,
           __tsan_get_report_mop(shown, 0, 0, 0, 0, 0, 0, 0, 0));
    return 0;
}
