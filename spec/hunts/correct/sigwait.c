// A signal sent to a thread that waits for it hands a plain value over.
#include <pthread.h>
#include <signal.h>
#include "../hunt.h"

int value;
sigset_t set;

static void *worker(void *nothing) {
    int number;
    sigwait(&set, &number);
    USE(value);
    value = 2;
    return nothing;
}

int main(void) {
    pthread_t thread;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, 0);
    pthread_create(&thread, 0, worker, 0);
    value = 1;
    pthread_kill(thread, SIGUSR1);
    pthread_join(thread, 0);
    return 0;
}
