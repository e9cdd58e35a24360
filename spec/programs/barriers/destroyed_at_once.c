// A barrier that the last thread destroys at once has ordered all others.
#include <pthread.h>
#include "../order.h"

enum { THREADS = 8, ROUNDS = 400 };

pthread_barrier_t barriers[ROUNDS], between;
int values[THREADS];

static void *worker(void *number) {
    long me = (long)number;
    for (int round = 0; round < ROUNDS; round++) {
        values[me] = round;
        int result = pthread_barrier_wait(&barriers[round]); //~ race 1: read
        if (result == PTHREAD_BARRIER_SERIAL_THREAD)
            pthread_barrier_destroy(&barriers[round]); //~ race 1: write
        dh_use(values[(me + 1) % THREADS]);
        pthread_barrier_wait(&between);
    }
    return 0;
}

int main(void) {
    pthread_t threads[THREADS];
    pthread_barrier_init(&between, 0, THREADS);
    for (int round = 0; round < ROUNDS; round++)
        pthread_barrier_init(&barriers[round], 0, THREADS);
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], 0, worker, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], 0);
    return 0;
}
