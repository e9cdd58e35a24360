// A longjmp past instrumented frames leaves the stack right for the accesses after it.
#include <pthread.h>
#include <setjmp.h>
#include "../order.h"

int value;
jmp_buf back;

static __attribute__((noinline)) void deepest(int depth) {
    if (depth == 0)
        longjmp(back, 1);
    deepest(depth - 1);
    dh_use(depth);
}

static __attribute__((noinline)) void set(void) {
    value = 1; //~ race 1: write in set < writer
}

static void *writer(void *nothing) {
    if (setjmp(back) == 0)
        deepest(20);
    set();
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, writer, 0);
    dh_step(1);
    dh_use(value); //~ race 1: read in main
    pthread_join(thread, 0);
    return 0;
}
