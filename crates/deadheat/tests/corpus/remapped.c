/* Maps memory and gives it back, as often as it is told, and counts the mappings that there are in the end. */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

static sem_t over;

static void *sleeper(void *nothing) {
    while (sem_wait(&over)) {}
    return nothing;
}

int main(int count, char **arguments) {
    const size_t size = 16 << 20;
    long rounds = count > 1 ? atol(arguments[1]) : 1, lines = 0;
    pthread_t thread;
    pthread_create(&thread, NULL, sleeper, NULL);
    for (long i = 0; i < rounds; i++) {
        long *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED)
            return 1;
        memory[0] = i;
        if (munmap(memory, size) != 0)
            return 1;
    }
    FILE *maps = fopen("/proc/self/maps", "r");
    for (int c; (c = fgetc(maps)) != EOF;) lines += c == '\n';
    fclose(maps);
    printf("mappings %ld\n", lines);
    sem_post(&over);
    pthread_join(thread, NULL);
    return 0;
}
