// A signal that is read from a file descriptor hands a plain value over.
#include <pthread.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include "../hunt.h"

int value, signals;

static void *worker(void *nothing) {
    value = 1;
    kill(getpid(), SIGUSR2);
    return nothing;
}

int main(void) {
    pthread_t thread;
    struct signalfd_siginfo info;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &set, 0);
    signals = signalfd(-1, &set, 0);
    pthread_create(&thread, 0, worker, 0);
    if (read(signals, &info, sizeof info) != sizeof info)
        return 1;
    USE(value);
    value = 2;
    pthread_join(thread, 0);
    return 0;
}
