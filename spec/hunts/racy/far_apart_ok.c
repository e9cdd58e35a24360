// One side writes at its very beginning, the other reads after some 20 ms of computing.
#include <pthread.h>
#include "../hunt.h"

int value;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

WHOLE static void compute(double x) {
    for (int step = 0; step < 800000; step++)
        x = 1.5 / (0.5 + 1.5 / (0.5 + 1.5 / (0.5 + 1.5 / (0.5 + x))));
    USE((long)x);
}

static void *early(void *nothing) {
    pthread_mutex_lock(&mutex);
    value = 1;
    pthread_mutex_unlock(&mutex);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, early, 0);
    compute(3);
    pthread_mutex_lock(&mutex);
    USE(value);
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, 0);
    return 0;
}
