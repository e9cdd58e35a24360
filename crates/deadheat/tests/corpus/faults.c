/* Two threads write fresh memory, word by word, each its half. Says how many faults brought pages meanwhile, and how many pages the
 * memory has. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>

enum { MEGABYTES = 8, PAGE = 4096 };

static uint64_t *memory;
static const size_t half = ((size_t)MEGABYTES << 20) / sizeof(uint64_t) / 2;

static void *fill(void *number) {
    uint64_t *from = memory + (number != NULL ? half : 0);
    for (size_t i = 0; i < half; i++) from[i] = i;
    return NULL;
}

static long faults(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
}

int main(void) {
    memory = mmap(NULL, (size_t)MEGABYTES << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return 1;
    madvise(memory, (size_t)MEGABYTES << 20, MADV_NOHUGEPAGE);
    const long before = faults();
    pthread_t threads[2];
    for (uintptr_t i = 0; i < 2; i++) pthread_create(&threads[i], NULL, fill, (void *)i);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    printf("faults %ld pages %d\n", faults() - before, (MEGABYTES << 20) / PAGE);
    return 0;
}
