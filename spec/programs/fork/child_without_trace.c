// A child that can open no file is not watched: nothing that it does is told as its parent's.
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../order.h"

int value;

static void *writer(void *step) {
    value++; //~ race 1: write
    dh_done((int)(long)step);
    return step;
}

static void in_turn(void) {
    pthread_t thread;
    pthread_create(&thread, 0, writer, (void *)1);
    pthread_join(thread, 0);
}

int main(void) {
    struct rlimit none = {3, 3};
    in_turn();
    setrlimit(RLIMIT_NOFILE, &none);
    pid_t child = fork();
    if (child == 0) {
        in_turn();
        in_turn();
        _exit(0);
    }
    waitpid(child, 0, 0);
    pthread_t thread;
    pthread_create(&thread, 0, writer, (void *)2);
    dh_step(2);
    dh_use(value); //~ race 1: read
    pthread_join(thread, 0);
    return 0;
}
