// A handler comes after what was done before its signal was sent, and not after what was done later.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include "../order.h"

int value;

static void handler(int number) {
    dh_step(1);
    dh_use(number + value); //~ race 1: read
    dh_done(2);
}

static void *worker(void *nothing) {
    dh_done(0);
    dh_step(2);
    return nothing;
}

int main(void) {
    pthread_t thread;
    struct sigaction action = {.sa_handler = handler};
    sigaction(SIGUSR1, &action, 0);
    pthread_create(&thread, 0, worker, 0);
    dh_step(0);
    pthread_kill(thread, SIGUSR1);
    value = 1; //~ race 1: write
    dh_done(1);
    pthread_join(thread, 0);
    return 0;
}
