// pread and pwrite access their buffers as read and write do.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
#include "../order.h"

int file;
char in[16], out[16];

static void *worker(void *nothing) {
    if (pwrite(file, out, 16, 0) == 16) //~ race 1: read
        dh_done(1);
    if (pread(file, in, 16, 0) == 16) //~ race 2: write
        dh_done(2);
    return nothing;
}

int main(void) {
    pthread_t thread;
    file = fileno(tmpfile());
    pthread_create(&thread, 0, worker, 0);
    dh_step(1);
    dh_step(2);
    out[15] = 1; //~ race 1: write
    dh_use(in[15]); //~ race 2: read
    pthread_join(thread, 0);
    return 0;
}
