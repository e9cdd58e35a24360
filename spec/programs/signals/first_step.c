// A signal that reaches a thread before its first step is handled in that thread.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include "../order.h"

int value;

static void handler(int number) {
    (void)number;
    value = 1; //~ race 1: write
    dh_done(1);
}

// In the place of the C library's, which a new thread is asked for its stack with before it is
// watched: so the signal is there before the thread's first step each time.
int pthread_getattr_np(pthread_t thread, pthread_attr_t *attributes) {
    (void)attributes;
    pthread_kill(thread, SIGUSR1);
    return ENOSYS;
}

static void *worker(void *nothing) {
    return nothing;
}

int main(void) {
    pthread_t thread;
    struct sigaction action = {.sa_handler = handler};
    sigaction(SIGUSR1, &action, 0);
    pthread_create(&thread, 0, worker, 0);
    dh_step(1);
    dh_use(value); //~ race 1: read
    pthread_join(thread, 0);
    return 0;
}
