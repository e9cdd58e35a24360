// A thread blocks the signals that its attributes say, not those that its creator blocks.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include "../order.h"

int value;

static void handler(int number) {
    (void)number;
    value = 1; //~ race 1: write
}

static void *worker(void *nothing) {
    raise(SIGUSR1);
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_attr_t attributes;
    sigset_t none, one;
    struct sigaction action = {.sa_handler = handler};
    sigaction(SIGUSR1, &action, 0);
    sigemptyset(&none);
    sigemptyset(&one);
    sigaddset(&one, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &one, 0);
    pthread_attr_init(&attributes);
    pthread_attr_setsigmask_np(&attributes, &none);
    pthread_create(&thread, &attributes, worker, 0);
    dh_step(1);
    dh_use(value); //~ race 1: read
    pthread_join(thread, 0);
    return 0;
}
