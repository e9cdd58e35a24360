// The first thread makes many more accesses in one stretch than are remembered of a thread. With `ORDERED` in its environment
// the second one waits until that is done, which no detector sees.
#include <pthread.h>
#include <stdlib.h>
#include <order.h>

int value, others[1 << 20];

static void *first(void *argument) {
    value = 1;
    for (int at = 0; at < 1 << 20; at++)
        others[at] = at;
    dh_done(1);
    return argument;
}

static void *second(void *argument) {
    if (getenv("ORDERED"))
        dh_step(1);
    value = 2;
    return argument;
}

int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], 0, first, 0);
    pthread_create(&threads[1], 0, second, 0);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    return value;
}
