// A signal handler's accesses are those of the thread that it interrupts.
#include <pthread.h>
#include <signal.h>
#include "../order.h"

int value;

static void handler(int number) {
    (void)number;
    value = 1; //~ race 1: write
}

static void *worker(void *nothing) {
    raise(SIGUSR1);
    dh_done(1);
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
