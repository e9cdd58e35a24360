// One of two threads is waited for before the result is read: the other may still be writing it.
#include <pthread.h>
#include "../hunt.h"

int results[2];

static void *worker(void *result) {
    *(int *)result = 1; //~ race 1: write
    return 0;
}

int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, worker, &results[i]);
    pthread_join(threads[0], 0);
    USE(results[0]);
    USE(results[1]); //~ race 1: read
    pthread_join(threads[1], 0);
    return 0;
}
