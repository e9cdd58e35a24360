// Asks who handles a fault, puts that back, and has its own handler hand the fault on to it.
#include <signal.h>
#include <stdio.h>

static struct sigaction before;

static void handler(int number, siginfo_t *about, void *context) {
    if (before.sa_flags & SA_SIGINFO || before.sa_handler != SIG_DFL)
        before.sa_sigaction(number, about, context);
    else
        signal(number, SIG_DFL);
}

int main(void) {
    struct sigaction own = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO}, again;
    sigaction(SIGSEGV, 0, &before);
    sigaction(SIGSEGV, &before, &again);
    printf("%d %d", before.sa_handler != SIG_DFL, again.sa_handler != SIG_DFL);
    sigaction(SIGSEGV, 0, &before);
    sigaction(SIGSEGV, &own, 0);
    printf(" %d\n", before.sa_handler != SIG_DFL);
    fflush(stdout);
    *(volatile int *)8 = 1;
    return 0;
}
