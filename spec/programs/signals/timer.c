// Who gets a timer's signal by `sigwait` comes after what was done before the timer was set.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include "../order.h"

int value;

static void *worker(void *set) {
    int signal;
    if (sigwait(set, &signal) != 0 || signal != SIGUSR2)
        return set;
    dh_step(1);
    dh_use(value); //~ race 1: read
    return 0;
}

int main(void) {
    pthread_t thread;
    timer_t timer;
    struct sigevent wish = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR2};
    struct itimerspec soon = {.it_value = {.tv_nsec = 1}};
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &set, 0);
    if (timer_create(CLOCK_MONOTONIC, &wish, &timer) != 0)
        return 1;
    pthread_create(&thread, 0, worker, &set);
    timer_settime(timer, 0, &soon, 0);
    value = 1; //~ race 1: write
    dh_done(1);
    pthread_join(thread, 0);
    timer_delete(timer);
    return 0;
}
