// Six threads count with an atomic again and again; who reads it as a plain number then races with the last count of each.
#include <pthread.h>
#include <stdatomic.h>
#include "../order.h"

enum { READERS = 6, ROUNDS = 300 };

atomic_int counter;

static void *reader(void *number) {
    for (int i = 0; i < ROUNDS; i++)
        atomic_fetch_add(&counter, 1); //~ race 1: atomic write
    dh_done((int)(long)number);
    return 0;
}

int main(void) {
    pthread_t threads[READERS];
    for (long i = 0; i < READERS; i++)
        pthread_create(&threads[i], 0, reader, (void *)i);
    for (int i = 0; i < READERS; i++)
        dh_step(i);
    dh_use(*(volatile int *)&counter); //~ race 1: read
    for (int i = 0; i < READERS; i++)
        pthread_join(threads[i], 0);
    return 0;
}
