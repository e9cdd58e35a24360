// A parent goes on to be watched after a fork, and its child's end orders nothing of its threads.
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../order.h"

int value;

static void *writer(void *nothing) {
    dh_step(1);
    value = 1;
    dh_done(2);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, writer, 0);
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    waitpid(child, 0, 0);
    dh_done(1);
    dh_step(2);
    pthread_join(thread, 0);
    value = 2;
    return 0;
}
