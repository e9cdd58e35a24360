// Who moves what another wrote from one pipe to the next comes after that, and before who reads it there.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>
#include "../order.h"

int first, second, in[2], out[2];

static void *writer(void *nothing) {
    if (write(in[1], "x", 1) != 1)
        return nothing;
    first = 1; //~ race 1: write
    dh_done(1);
    return nothing;
}

static void *reader(void *nothing) {
    char byte;
    if (read(out[0], &byte, 1) != 1)
        return nothing;
    dh_step(2);
    dh_use(second); //~ race 2: read
    return nothing;
}

int main(void) {
    pthread_t threads[2];
    if (pipe(in) != 0 || pipe(out) != 0)
        return 1;
    pthread_create(&threads[0], 0, writer, 0);
    pthread_create(&threads[1], 0, reader, 0);
    dh_step(1);
    if (splice(in[0], 0, out[1], 0, 1, 0) != 1)
        return 1;
    dh_use(first); //~ race 1: read
    second = 1; //~ race 2: write
    dh_done(2);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    return 0;
}
