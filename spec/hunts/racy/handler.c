// A signal handler counts what its thread has seen while another thread takes the count and clears it.
#include <pthread.h>
#include <signal.h>
#include "../hunt.h"

int count;

WHOLE static int more(int number) {
    return number + 1;
}

static void handler(int number) {
    (void)number;
    count = more(count); //~ race 1: read, race 2: write, race 3: write
}

static void *interrupted(void *nothing) {
    raise(SIGUSR1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    struct sigaction action = {.sa_handler = handler};
    sigaction(SIGUSR1, &action, 0);
    pthread_create(&thread, 0, interrupted, 0);
    USE(count); //~ race 2: read
    count = 0; //~ race 1: write, race 3: write
    pthread_join(thread, 0);
    return 0;
}
