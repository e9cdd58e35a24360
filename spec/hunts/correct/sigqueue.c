// A queued signal brings the address of a plain value to the thread that waits for it, and one goes back.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include "../hunt.h"

pthread_t main_thread;
sigset_t set;

static void *worker(void *nothing) {
    siginfo_t info;
    if (sigwaitinfo(&set, &info) == SIGRTMIN) {
        int *value = info.si_value.sival_ptr;
        *value = *value + 1;
    }
    pthread_sigqueue(main_thread, SIGRTMIN, (union sigval){0});
    return nothing;
}

int main(void) {
    pthread_t thread;
    int value, number;
    main_thread = pthread_self();
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN);
    pthread_sigmask(SIG_BLOCK, &set, 0);
    pthread_create(&thread, 0, worker, 0);
    value = 1;
    pthread_sigqueue(thread, SIGRTMIN, (union sigval){.sival_ptr = &value});
    sigwait(&set, &number);
    value = value + 1;
    APART();
    pthread_join(thread, 0);
    return value == 3 ? 0 : 1;
}
