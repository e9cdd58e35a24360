// Six threads copy a record between their locks again and again; a write to one byte of it then races with the last copy of each.
#include <pthread.h>
#include <string.h>
#include "../order.h"

enum { READERS = 6, ROUNDS = 300 };

struct record {
    long first[2];
    char last[8];
} record, copies[READERS];
pthread_mutex_t locks[READERS];

static void *reader(void *number) {
    long self = (long)number;
    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&locks[self]);
        memcpy(&copies[self], &record, sizeof record);
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
    record.last[5] = 1;
    return 0;
}
