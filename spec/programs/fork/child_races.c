// A forked child has races of its own.
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../order.h"

int value;

static void *writer(void *nothing) {
    value = 1; //~ race 1: write
    dh_done(1);
    return nothing;
}

int main(void) {
    pid_t child = fork();
    if (child == 0) {
        pthread_t thread;
        pthread_create(&thread, 0, writer, 0);
        dh_step(1);
        dh_use(value); //~ race 1: read
        pthread_join(thread, 0);
        return 0;
    }
    waitpid(child, 0, 0);
    return 0;
}
