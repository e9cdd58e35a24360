// A write races with one that its thread made ten million calls ago: both stacks are told.
#include <pthread.h>

#include "../programs/order.h"

long value;
static long turns = 10000000;

__attribute__((noinline)) static void write_early(void) {
    value = 1; //~ race 1: write in write_early < first
}

__attribute__((noinline)) static void call(long number) {
    __asm__ volatile("" : : "r"(number) : "memory");
}

static void *first(void *argument) {
    write_early();
    for (long i = 0; i < turns; i++)
        call(i);
    dh_done(1);
    return argument;
}

static void *second(void *argument) {
    dh_step(1);
    value = 2; //~ race 1: write in second
    return argument;
}

int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], 0, first, 0);
    pthread_create(&threads[1], 0, second, 0);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    return 0;
}
