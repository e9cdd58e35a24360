// A handler on a stack of its own is watched like any other code.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include "../order.h"

int value;
char space[1 << 16];

static void handler(int number) {
    int local = number;
    dh_use(&local);
    value = local; //~ race 1: write
}

static void *worker(void *nothing) {
    stack_t stack = {.ss_sp = space, .ss_size = sizeof space};
    sigaltstack(&stack, 0);
    raise(SIGUSR1);
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
    sigaction(SIGUSR1, &action, 0);
    pthread_create(&thread, 0, worker, 0);
    dh_step(1);
    dh_use(value); //~ race 1: read
    pthread_join(thread, 0);
    return 0;
}
