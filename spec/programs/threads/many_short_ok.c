// Of two thousand short threads, one after the other, only the one that nobody joined in time races.
#include <pthread.h>
#include "../order.h"

int sum;

static void *adder(void *nothing) {
    sum = 7;
    return nothing;
}

static void *last(void *nothing) {
    sum = 8;
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    for (int round = 0; round < 2000; round++) {
        pthread_create(&thread, 0, adder, 0);
        pthread_join(thread, 0);
    }
    pthread_create(&thread, 0, last, 0);
    dh_step(1);
    pthread_join(thread, 0);
    dh_use(sum);
    return 0;
}
