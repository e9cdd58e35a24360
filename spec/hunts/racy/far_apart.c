// One side writes at its very beginning, the other reads after some 20 ms of computing.
#include <pthread.h>
#include "../hunt.h"

int value;

WHOLE static void compute(double x) {
    for (int step = 0; step < 800000; step++)
        x = 1.5 / (0.5 + 1.5 / (0.5 + 1.5 / (0.5 + 1.5 / (0.5 + x))));
    USE((long)x);
}

static void *early(void *nothing) {
    value = 1; //~ race 1: write
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, early, 0);
    compute(3);
    USE(value); //~ race 1: read
    pthread_join(thread, 0);
    return 0;
}
