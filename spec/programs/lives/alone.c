// What a thread allocates while it is alone has nothing of the lives that others ended at that place.
#include <pthread.h>
#include <stdlib.h>
#include "../order.h"

enum { THREADS = 2, COUNT = 100, ROUNDS = 2 };

int *volatile blocks[THREADS][COUNT];
int turn;

static void *release(void *number) {
    for (int i = 0; i < COUNT; i++)
        free(blocks[(long)number][i]); //~ race 1: free
    dh_done(THREADS * turn + (int)(long)number);
    return number;
}

int main(void) {
    for (; turn < ROUNDS; turn++) {
        pthread_t threads[THREADS];
        for (int i = 0; i < THREADS * COUNT; i++)
            blocks[i / COUNT][i % COUNT] = calloc(6, sizeof(int));
        for (long i = 0; i < THREADS; i++)
            pthread_create(&threads[i], 0, release, (void *)i);
        if (turn == ROUNDS - 1) {
            dh_step(THREADS * turn + 1);
            dh_use(blocks[1][COUNT - 1][0]); //~ race 1: read
        }
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], 0);
    }
    return 0;
}
