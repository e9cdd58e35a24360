// A variable of a caller that is reached through a pointer is not taken for one of the function's own.
//! location 1: stack ?
#include <pthread.h>
#include "../order.h"

static void *writer(void *local) {
    *(int *)local = 1; //~ race 1: write
    dh_done(1);
    return 0;
}

static __attribute__((noinline, noclone)) int look(volatile int *theirs) {
    int own = 0;
    __asm__ volatile("" : "+r"(theirs) : "r"(&own) : "memory");
    own += *theirs; //~ race 1: read
    return own;
}

int main(void) {
    pthread_t thread;
    int local;
    pthread_create(&thread, 0, writer, &local);
    dh_step(1);
    dh_use(look(&local));
    pthread_join(thread, 0);
    return 0;
}
