// A number that a device had orders as the pipe that has it now.
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>
#include "../order.h"

int value, ends[2], in;

static void *worker(void *nothing) {
    value = 1;
    dh_use(write(in, "x", 1));
    dh_done(1);
    return nothing;
}

int main(void) {
    char byte;
    pthread_t thread;
    in = open("/dev/null", O_RDWR);
    if (write(in, "x", 1) != 1 || pipe(ends) != 0 || dup2(ends[1], in) != in)
        return 1;
    pthread_create(&thread, 0, worker, 0);
    dh_step(1);
    if (read(ends[0], &byte, 1) != 1)
        return 1;
    dh_use(value);
    pthread_join(thread, 0);
    return 0;
}
