// A stack that the program itself gave to a thread is memory like any other once the thread is gone.
#include <pthread.h>
#include <stdlib.h>
#include "../order.h"

enum { SIZE = 1 << 22 };

char *stack;

static void *writer(void *nothing) {
    stack[0] = 1; //~ race 1: write
    dh_leave(1);
    return nothing;
}

int main(void) {
    pthread_attr_t attributes;
    pthread_t thread;
    stack = aligned_alloc(4096, SIZE);
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, stack, SIZE);
    pthread_create(&thread, &attributes, writer, 0);
    pthread_detach(thread);
    dh_gone(1);
    dh_use(stack[0]); //~ race 1: read
    return 0;
}
