// Thousands of threads, one after the other, the first and the last of which race. Prints how much memory came, in kilobytes, in the
// last three quarters.
#include <pthread.h>
#include <stdio.h>

enum { THREADS = 4000 };

int shared, guarded;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

// In pages.
static long memory(void) {
    long all = 0, here = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file && fscanf(file, "%ld %ld", &all, &here) != 2)
        here = 0;
    if (file)
        fclose(file);
    return here;
}

static void *work(void *number) {
    pthread_mutex_lock(&mutex);
    guarded++;
    pthread_mutex_unlock(&mutex);
    return number;
}

static void *store(void *number) {
    shared++;
    return number;
}

int main(void) {
    pthread_t thread, racing[2];
    long quarter = 0;
    pthread_create(&racing[0], 0, store, 0);
    for (long i = 0; i < THREADS; i++) {
        pthread_create(&thread, 0, work, (void *)i);
        pthread_join(thread, 0);
        if (i == THREADS / 4)
            quarter = memory();
    }
    printf("came %ld\n", (memory() - quarter) * 4);
    pthread_create(&racing[1], 0, store, 0);
    pthread_join(racing[0], 0);
    pthread_join(racing[1], 0);
    return 0;
}
