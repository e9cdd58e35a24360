// Numbers with a point and pointers are accessed like any other bytes.
#include <pthread.h>
#include "../order.h"

double number, zero;
void *pointer;

static void *writer(void *nothing) {
    number = zero;
    pointer = &number;
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, writer, 0);
    dh_step(1);
    pthread_join(thread, 0);
    double copy = number;
    __asm__ volatile("" : : "x"(copy));
    dh_use(pointer);
    return 0;
}
