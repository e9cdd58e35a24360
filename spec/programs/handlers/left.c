// Who jumps out of a signal handler is in it no more.
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static sigjmp_buf begin;
static void *volatile block;

static void handler(int number) {
    (void)number;
    block = malloc(16); //~ finding 1: signal-unsafe
    siglongjmp(begin, 1);
}

int main(void) {
    signal(SIGUSR1, handler);
    if (sigsetjmp(begin, 1) == 0) kill(getpid(), SIGUSR1);
    free(block);
    block = malloc(16);
    free(block);
    return 0;
}
