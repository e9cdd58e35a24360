// readv and writev access every piece of their vectors.
#include <pthread.h>
#include <sys/uio.h>
#include <unistd.h>
#include "../order.h"

int ends[2];
char in[2][8], out[2][8];

static void *worker(void *nothing) {
    struct iovec from[2] = {{out[0], 8}, {out[1], 8}}, to[2] = {{in[0], 8}, {in[1], 8}};
    if (writev(ends[1], from, 2) == 16) //~ race 1: read
        dh_done(1);
    if (readv(ends[0], to, 2) == 16) //~ race 2: write
        dh_done(2);
    return nothing;
}

int main(void) {
    pthread_t thread;
    if (pipe(ends) != 0)
        return 1;
    pthread_create(&thread, 0, worker, 0);
    dh_step(1);
    dh_step(2);
    out[1][7] = 1; //~ race 1: write
    dh_use(in[1][0]); //~ race 2: read
    pthread_join(thread, 0);
    return 0;
}
