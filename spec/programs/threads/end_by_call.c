// To join a thread that ended by a system call of its own orders what it did.
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "../order.h"

int value;

static void *ends(void *nothing) {
    value = 1; //~ race 1: write
    dh_done(1);
    syscall(SYS_exit, 0);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, ends, 0);
    dh_step(1);
    dh_use(value); //~ race 1: read
    pthread_join(thread, 0);
    return 0;
}
