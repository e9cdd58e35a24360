// A siglongjmp out of a signal handler leaves the stack right too.
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include "../order.h"

int value;
sigjmp_buf back;

static void handler(int number) {
    siglongjmp(back, number);
}

static __attribute__((noinline)) void deep(void) {
    raise(SIGUSR1);
    dh_use(back);
}

static __attribute__((noinline)) void set(void) {
    value = 1; //~ race 1: write in set < writer
}

static void *writer(void *nothing) {
    if (sigsetjmp(back, 1) == 0)
        deep();
    set();
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    signal(SIGUSR1, handler);
    pthread_create(&thread, 0, writer, 0);
    dh_step(1);
    dh_use(value); //~ race 1: read in main
    pthread_join(thread, 0);
    return 0;
}
