// Who gets a signal by `sigtimedwait` comes after what was done before it was sent.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include "../order.h"

int value;

static void *worker(void *set) {
    struct timespec most = {.tv_sec = 1000};
    if (sigtimedwait(set, 0, &most) != SIGUSR1)
        return set;
    dh_step(1);
    dh_use(value); //~ race 1: read
    return 0;
}

int main(void) {
    pthread_t thread;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, 0);
    pthread_create(&thread, 0, worker, &set);
    pthread_kill(thread, SIGUSR1);
    value = 1; //~ race 1: write
    dh_done(1);
    pthread_join(thread, 0);
    return 0;
}
