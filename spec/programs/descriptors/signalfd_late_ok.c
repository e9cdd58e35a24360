// Who takes a signal from a descriptor comes after what was done before it was sent, also if the descriptor was made later, and not after what was done since.
#include <pthread.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include "../order.h"

int before;

static void *waiter(void *nothing) {
    sigset_t wanted;
    struct signalfd_siginfo about;
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGUSR2);
    dh_step(1);
    int file = signalfd(-1, &wanted, 0);
    if (read(file, &about, sizeof about) == sizeof about)
        dh_use(before);
    close(file);
    return nothing;
}

int main(void) {
    sigset_t wanted;
    pthread_t thread;
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &wanted, 0);
    pthread_create(&thread, 0, waiter, 0);
    before = 1;
    pthread_kill(thread, SIGUSR2);
    dh_done(1);
    pthread_join(thread, 0);
    return 0;
}
