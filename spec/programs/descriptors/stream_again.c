// A number that a stream's file had orders as the pipe that the stream is opened for again.
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
#include "../order.h"

int value, ends[2], in;

static void *worker(void *nothing) {
    dh_use(write(in, "x", 1));
    value = 1; //~ race 1: write
    dh_done(1);
    return nothing;
}

int main(void) {
    char byte, path[64];
    pthread_t thread;
    FILE *stream = fopen("/dev/null", "w");
    in = fileno(stream);
    snprintf(path, sizeof path, "/proc/self/fd/%d", pipe(ends) == 0 ? ends[1] : -1);
    if (write(in, "x", 1) != 1 || freopen(path, "w", stream) == NULL || fileno(stream) != in)
        return 1;
    pthread_create(&thread, 0, worker, 0);
    dh_step(1);
    if (read(ends[0], &byte, 1) != 1)
        return 1;
    dh_use(value); //~ race 1: read
    pthread_join(thread, 0);
    return 0;
}
