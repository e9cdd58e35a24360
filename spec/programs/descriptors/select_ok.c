// Who is told by `select` that something shows at a pipe comes after what was done before it went in, also if nothing is read.
#define _GNU_SOURCE
#include <sys/select.h>
#include <pthread.h>
#include <unistd.h>
#include "../order.h"

int value, ends[2];

static void *worker(void *nothing) {
    value = 1;
    dh_use(write(ends[1], "x", 1));
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    fd_set files;
    if (pipe(ends) != 0)
        return 1;
    pthread_create(&thread, 0, worker, 0);
    dh_step(1);
    FD_ZERO(&files);
    FD_SET(ends[0], &files);
    if (select(ends[0] + 1, &files, 0, 0, 0) != 1)
        return 1;
    dh_use(value);
    pthread_join(thread, 0);
    return 0;
}
