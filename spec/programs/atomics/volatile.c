// A volatile variable is no atomic: it races itself, and orders nothing around it.
#include <pthread.h>
#include <stdatomic.h>
#include "../order.h"

int value;
volatile int flag;

static void *writer(void *nothing) {
    value = 1; //~ race 1: write
    flag = 1; //~ race 2: write
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, writer, 0);
    dh_step(1);
    while (!flag) //~ race 2: read
        continue;
    dh_use(value); //~ race 1: read
    pthread_join(thread, 0);
    return 0;
}
