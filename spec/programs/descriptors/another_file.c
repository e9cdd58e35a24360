// A number that a pipe had orders nothing as that of the device that has it now.
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>
#include "../order.h"

int value, ends[2];

static void *worker(void *nothing) {
    value = 1; //~ race 1: write
    dh_use(write(ends[1], "x", 1));
    dh_done(1);
    return nothing;
}

int main(void) {
    char byte;
    pthread_t thread;
    if (pipe(ends) != 0)
        return 1;
    int out = dup(ends[0]);
    if (write(ends[1], "x", 1) != 1 || read(out, &byte, 1) != 1 || close(out) != 0 || open("/dev/zero", O_RDONLY) != out)
        return 1;
    pthread_create(&thread, 0, worker, 0);
    dh_step(1);
    if (read(out, &byte, 1) != 1)
        return 1;
    dh_use(value); //~ race 1: read
    pthread_join(thread, 0);
    return 0;
}
