// Six threads look at an atomic flag between their locks again and again; who clears it by a plain store then races with the last look of each.
#include <pthread.h>
#include <stdatomic.h>
#include "../order.h"

enum { READERS = 6, ROUNDS = 300 };

atomic_int flag = 1;
pthread_mutex_t locks[READERS];

static void *reader(void *number) {
    long self = (long)number;
    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&locks[self]);
        dh_use(atomic_load_explicit(&flag, memory_order_relaxed));
        pthread_mutex_unlock(&locks[self]);
    }
    dh_done((int)self);
    return 0;
}

int main(void) {
    pthread_t threads[READERS];
    for (long i = 0; i < READERS; i++)
        pthread_create(&threads[i], 0, reader, (void *)i);
    for (int i = 0; i < READERS; i++)
        dh_step(i);
    for (int i = 0; i < READERS; i++)
        pthread_join(threads[i], 0);
    *(volatile int *)&flag = 0;
    return 0;
}
