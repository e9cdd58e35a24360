// Who reads a signal from a `signalfd` comes after what was done before it was sent.
#include <pthread.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include "../order.h"

int value;

static void *worker(void *from) {
    struct signalfd_siginfo about;
    if (read(*(int *)from, &about, sizeof about) != sizeof about || about.ssi_signo != SIGUSR1)
        return from;
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
    int file = signalfd(-1, &set, 0);
    pthread_create(&thread, 0, worker, &file);
    kill(getpid(), SIGUSR1);
    value = 1; //~ race 1: write
    dh_done(1);
    pthread_join(thread, 0);
    return 0;
}
