// A child works on its own copy: what the parent's other thread does there is no race with it.
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../order.h"

int value;

static void *writer(void *nothing) {
    value = 1;
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, writer, 0);
    dh_step(1);
    pid_t child = fork();
    if (child == 0) {
        dh_use(value);
        _exit(0);
    }
    waitpid(child, 0, 0);
    pthread_join(thread, 0);
    return 0;
}
