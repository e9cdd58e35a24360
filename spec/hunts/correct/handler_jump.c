// A signal handler jumps out of a loop that uses a value; only then another thread changes it.
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <unistd.h>
#include "../hunt.h"

int value, ready[2], left[2], changed[2];
sigjmp_buf outside;

static void handler(int number) {
    siglongjmp(outside, number);
}

static void *worker(void *nothing) {
    char byte = 'x';
    if (sigsetjmp(outside, 1) == 0) {
        if (write(ready[1], &byte, 1) != 1)
            _exit(1);
        for (;;) {
            USE(value);
            value++;
            usleep(50);
        }
    }
    if (write(left[1], &byte, 1) != 1 || read(changed[0], &byte, 1) != 1)
        _exit(1);
    value++;
    return nothing;
}

int main(void) {
    pthread_t thread;
    struct sigaction action = {.sa_handler = handler};
    char byte;
    if (pipe(ready) || pipe(left) || pipe(changed))
        return 1;
    sigaction(SIGUSR1, &action, 0);
    pthread_create(&thread, 0, worker, 0);
    if (read(ready[0], &byte, 1) != 1)
        return 1;
    pthread_kill(thread, SIGUSR1);
    if (read(left[0], &byte, 1) != 1)
        return 1;
    USE(value);
    value = 1;
    if (write(changed[1], &byte, 1) != 1)
        return 1;
    pthread_join(thread, 0);
    return 0;
}
