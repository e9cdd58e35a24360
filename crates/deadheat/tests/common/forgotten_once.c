// Between its two writes that race, the first thread makes more accesses than are remembered of a thread at first. What the order of the
// threads is made by no detector sees.
#include <pthread.h>
#include <order.h>

int value, another, others[2][200000];

static void much(int *others) {
    for (int at = 0; at < 200000; at++)
        others[at] = at;
}

static void *first(void *argument) {
    value = 1;
    much(others[0]);
    dh_done(1);
    dh_step(2);
    another = 1;
    much(others[1]);
    dh_done(3);
    return argument;
}

static void *second(void *argument) {
    dh_step(1);
    value = 2;
    dh_done(2);
    dh_step(3);
    another = 2;
    return argument;
}

int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], 0, first, 0);
    pthread_create(&threads[1], 0, second, 0);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    return value + another;
}
