// Threads are cancelled wherever they are, mostly in the middle of an atomic operation, and others go on with those atomics; then two threads race.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

enum { ROUNDS = 300, AT_ONCE = 2 };

static atomic_long count, other;
int shared;

static void *add(void *nothing) {
    int before;
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &before);
    for (;;) {
        atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
        atomic_fetch_add(&other, 1);
    }
    return nothing;
}

static void *store(void *nothing) {
    shared++;
    return nothing;
}

int main(void) {
    pthread_t threads[AT_ONCE];
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < AT_ONCE; i++)
            pthread_create(&threads[i], 0, add, 0);
        usleep(round % 50 * 10);
        for (int i = 0; i < AT_ONCE; i++)
            pthread_cancel(threads[i]);
        for (int i = 0; i < AT_ONCE; i++)
            pthread_join(threads[i], 0);
        atomic_fetch_add(&count, 1);
    }
    for (int i = 0; i < AT_ONCE; i++)
        pthread_create(&threads[i], 0, store, 0);
    for (int i = 0; i < AT_ONCE; i++)
        pthread_join(threads[i], 0);
    puts("ended");
    return 0;
}
