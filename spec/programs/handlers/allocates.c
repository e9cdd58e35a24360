// A signal handler does not allocate: it may have interrupted who does.
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static void *volatile block;

static void handler(int number) {
    (void)number;
    block = malloc(16); //~ finding 1: signal-unsafe
}

int main(void) {
    signal(SIGUSR1, handler);
    kill(getpid(), SIGUSR1);
    free(block);
    return 0;
}
