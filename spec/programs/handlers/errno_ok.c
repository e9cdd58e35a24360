// A signal handler leaves errno as it found it.
#include <errno.h>
#include <signal.h>
#include <unistd.h>

static void handler(int number) {
    int before = errno;
    (void)number;
    errno = ENOENT;
    errno = before;
}

int main(void) {
    struct sigaction action = {0};
    action.sa_handler = handler;
    sigaction(SIGUSR1, &action, 0);
    kill(getpid(), SIGUSR1);
    return 0;
}
