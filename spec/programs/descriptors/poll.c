// Who is told by `poll` that something shows at a pipe comes after what was done before it went in, also if nothing is read.
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <unistd.h>
#include "../order.h"

int value, ends[2];

static void *worker(void *nothing) {
    dh_use(write(ends[1], "x", 1));
    value = 1; //~ race 1: write
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    if (pipe(ends) != 0)
        return 1;
    pthread_create(&thread, 0, worker, 0);
    dh_step(1);
    struct pollfd file = {ends[0], POLLIN, 0};
    if (poll(&file, 1, -1) != 1)
        return 1;
    dh_use(value); //~ race 1: read
    pthread_join(thread, 0);
    return 0;
}
