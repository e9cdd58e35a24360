// Six threads read a block between their locks again and again; who frees it then races with the last read of each.
#include <pthread.h>
#include <stdlib.h>
#include "../order.h"

enum { READERS = 6, ROUNDS = 300 };

long *block;
pthread_mutex_t locks[READERS];

static void *reader(void *number) {
    long self = (long)number;
    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&locks[self]);
        dh_use(block[1]); //~ race 1: read
        pthread_mutex_unlock(&locks[self]);
    }
    dh_done((int)self);
    return 0;
}

int main(void) {
    pthread_t threads[READERS];
    block = calloc(2, sizeof *block);
    for (long i = 0; i < READERS; i++)
        pthread_create(&threads[i], 0, reader, (void *)i);
    for (int i = 0; i < READERS; i++)
        dh_step(i);
    free(block); //~ race 1: free
    for (int i = 0; i < READERS; i++)
        pthread_join(threads[i], 0);
    return 0;
}
