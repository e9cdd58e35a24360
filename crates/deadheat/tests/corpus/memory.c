// Four threads read megabytes that the first one wrote, in turns, so that all of their reads are remembered, and in ever new moments, so that
// hardly two places have been read in the same ones. Two races: with what was done before, `early`, and with what is done after, `late`. Prints
// the most memory that the process had, in kilobytes.
#include <order.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

enum { THREADS = 4, MOMENT = 64, BEFORE = 1, AFTER = 2 };

static pthread_barrier_t barrier;
// Each is one reader's alone.
static pthread_mutex_t own[THREADS];
static long *numbers, count;
long sums[THREADS];
int early, late;

static void *reader(void *argument) {
    long self = (long)argument, sum = 0;
    if (self == 0) {
        early = 1;
        dh_done(BEFORE);
    }
    for (int round = 0; round < 3; round++) {
        for (long at = 0; at < count; at++) {
            sum += numbers[at];
            if ((at + self) % MOMENT == 0) {
                pthread_mutex_lock(&own[self]);
                pthread_mutex_unlock(&own[self]);
            }
        }
        pthread_barrier_wait(&barrier);
    }
    sums[self] = sum;
    if (self == 0)
        late = 1;
    return NULL;
}

// Knows nothing of what the readers do.
static void *stranger(void *argument) {
    dh_step(AFTER);
    late = 2;
    early = 2;
    return argument;
}

int main(int arguments, char **argument) {
    pthread_t threads[THREADS], other;
    struct rusage usage;
    count = (arguments > 1 ? atol(argument[1]) : 1) << 17;
    numbers = malloc(count * sizeof *numbers);
    pthread_barrier_init(&barrier, NULL, THREADS);
    if (!numbers || pthread_create(&other, NULL, stranger, NULL))
        return 3;
    for (long at = 0; at < count; at++)
        numbers[at] = at;
    for (long self = 0; self < THREADS; self++)
        if (pthread_mutex_init(&own[self], NULL) || pthread_create(&threads[self], NULL, reader, (void *)self))
            return 3;
    for (int self = 0; self < THREADS; self++)
        pthread_join(threads[self], NULL);
    dh_done(AFTER);
    pthread_join(other, NULL);
    getrusage(RUSAGE_SELF, &usage);
    printf("peak %ld\n", usage.ru_maxrss);
    return 0;
}
