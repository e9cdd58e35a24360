// The handler that `sysv_signal`, `sigset` and the `signal` of plain C give back is the program's own, and may be set again.
//! std: c11
//! flags: -Wno-deprecated-declarations
#define _XOPEN_SOURCE 700
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include "../order.h"

void (*sysv_signal(int number, void (*handler)(int)))(int);

int value;

static void handler(int number) {
    (void)number;
    value++; //~ race 1: write
}

static void *worker(void *nothing) {
    struct sigaction action = {.sa_handler = handler}, found;
    void (*before)(int);
    sigaction(SIGUSR1, &action, 0);
    before = signal(SIGUSR1, SIG_IGN);
    action.sa_handler = before;
    sigaction(SIGUSR1, &action, 0);
    raise(SIGUSR1);
    before = sigset(SIGUSR1, SIG_HOLD);
    sigset(SIGUSR1, before);
    raise(SIGUSR1);
    before = sysv_signal(SIGUSR1, SIG_DFL);
    sysv_signal(SIGUSR1, before);
    raise(SIGUSR1);
    // A handler for one signal alone is gone then, and its flags stay.
    action.sa_flags = SA_RESETHAND;
    sigaction(SIGUSR1, &action, 0);
    raise(SIGUSR1);
    sigaction(SIGUSR1, 0, &found);
    if (before != handler || found.sa_handler != SIG_DFL || found.sa_flags & SA_SIGINFO)
        _Exit(1);
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, worker, 0);
    dh_step(1);
    dh_use(value); //~ race 1: read
    pthread_join(thread, 0);
    return 0;
}
