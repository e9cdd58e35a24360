// A signal handler does not allocate: it may have interrupted who does.
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static void *volatile block;

static void handler(int number) {
    (void)number;
    block = 0;
}

int main(void) {
    signal(SIGUSR1, handler);
    kill(getpid(), SIGUSR1);
    block = malloc(16);
    free(block);
    return 0;
}
