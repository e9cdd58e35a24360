// A handler knows what was done before it was set, and nothing that was done after.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include "../order.h"

int value;

static void handler(int number) {
    dh_use(number + value); //~ race 1: read
}

static void *worker(void *nothing) {
    dh_step(1);
    raise(SIGUSR1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    struct sigaction action = {.sa_handler = handler};
    pthread_create(&thread, 0, worker, 0);
    sigaction(SIGUSR1, &action, 0);
    value = 1; //~ race 1: write
    dh_done(1);
    pthread_join(thread, 0);
    return 0;
}
