// Who gets a signal by `sigwait` comes after what was done before the alarm was set.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <unistd.h>
#include "../order.h"

int value;

static void *worker(void *set) {
    int signal;
    if (sigwait(set, &signal) != 0 || signal != SIGALRM)
        return set;
    dh_step(1);
    dh_use(value); //~ race 1: read
    return 0;
}

int main(void) {
    pthread_t thread;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &set, 0);
    pthread_create(&thread, 0, worker, &set);
    ualarm(1, 0);
    value = 1; //~ race 1: write
    dh_done(1);
    pthread_join(thread, 0);
    return 0;
}
