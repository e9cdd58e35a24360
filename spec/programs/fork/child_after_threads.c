// A child that is forked when threads have come and gone has races of its own.
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../order.h"

int value;

static void *writer(void *step) {
    value = 1; //~ race 1: write
    dh_done((int)(long)step);
    return step;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, writer, (void *)1);
    pthread_join(thread, 0);
    dh_use(value);
    pid_t child = fork();
    if (child == 0) {
        pthread_create(&thread, 0, writer, (void *)2);
        dh_step(2);
        dh_use(value); //~ race 1: read
        pthread_join(thread, 0);
        return 0;
    }
    waitpid(child, 0, 0);
    return 0;
}
