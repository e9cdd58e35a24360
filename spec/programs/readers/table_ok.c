// Six threads read a table between their locks again and again; who writes to it then races with the last read of each.
#include <pthread.h>
#include "../order.h"

enum { READERS = 6, ROUNDS = 300 };

int table[2] = {3, 4};
pthread_mutex_t locks[READERS];

static void *reader(void *number) {
    long self = (long)number;
    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&locks[self]);
        dh_use(table[0]);
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
    table[0] = 5;
    return 0;
}
