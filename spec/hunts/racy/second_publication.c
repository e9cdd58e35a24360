// A publication that only breaks on the second call: the reader waits for the first alone.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include "../hunt.h"

int value;
atomic_int ready;

WHOLE static void publish(int number) {
    value = number; //~ race 1: write
    atomic_store(&ready, 1);
}

static void *reader(void *nothing) {
    while (!atomic_load(&ready))
        sched_yield();
    USE(value); //~ race 1: read
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, reader, 0);
    publish(1);
    publish(2);
    pthread_join(thread, 0);
    return 0;
}
