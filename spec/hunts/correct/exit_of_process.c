// The end of a process, which one thread brings about and another waits for, hands a plain value over.
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../hunt.h"

int value;
pid_t child;

static void *worker(void *nothing) {
    value = 1;
    kill(child, SIGKILL);
    return nothing;
}

int main(void) {
    pthread_t thread;
    int status;
    child = fork();
    if (child < 0)
        return 1;
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            pause();
    }
    pthread_create(&thread, 0, worker, 0);
    if (waitpid(child, &status, 0) != child)
        return 1;
    USE(value);
    value = 2;
    pthread_join(thread, 0);
    return 0;
}
