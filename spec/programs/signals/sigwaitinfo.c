// Who gets a signal by `sigwaitinfo` comes after what was done before it was sent.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <unistd.h>
#include "../order.h"

int value;

static void *worker(void *set) {
    siginfo_t about;
    if (sigwaitinfo(set, &about) != SIGUSR1 || about.si_signo != SIGUSR1)
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
    sigqueue(getpid(), SIGUSR1, (union sigval){.sival_int = 1});
    value = 1; //~ race 1: write
    dh_done(1);
    pthread_join(thread, 0);
    return 0;
}
