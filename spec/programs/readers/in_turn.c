// Six threads read a number between their locks, and one of them writes to it under all of these locks at times; only a last write without them races.
#include <pthread.h>
#include "../order.h"

enum { READERS = 6, ROUNDS = 300 };

int number;
pthread_mutex_t locks[READERS];

static void write_under_all(int value) {
    for (int i = 0; i < READERS; i++)
        pthread_mutex_lock(&locks[i]);
    number = value; //~ race 2: write
    for (int i = READERS; i-- > 0;)
        pthread_mutex_unlock(&locks[i]);
}

static void *reader(void *its) {
    long self = (long)its;
    for (int i = 0; i < 2 * ROUNDS; i++) {
        pthread_mutex_lock(&locks[self]);
        dh_use(number); //~ race 1: read
        pthread_mutex_unlock(&locks[self]);
        if (self == 0 && i < ROUNDS && i % 100 == 99)
            write_under_all(i);
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
    number = 7; //~ race 1: write, race 2: write
    for (int i = 0; i < READERS; i++)
        pthread_join(threads[i], 0);
    return 0;
}
