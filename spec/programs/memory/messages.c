// sendmmsg reads the buffers of all its messages, and recvmmsg writes into those of all that it gets.
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/socket.h>
#include "../order.h"

int ends[2];
char in[2][16], out[2][16];

static struct mmsghdr message(struct iovec *part) {
    struct mmsghdr message = {.msg_hdr = {.msg_iov = part, .msg_iovlen = 1}};
    return message;
}

static void *worker(void *nothing) {
    struct iovec from[2] = {{out[0], 16}, {out[1], 16}}, to[2] = {{in[0], 16}, {in[1], 16}};
    struct mmsghdr sent[2] = {message(&from[0]), message(&from[1])};
    struct mmsghdr got[2] = {message(&to[0]), message(&to[1])};
    if (sendmmsg(ends[1], sent, 2, 0) == 2) //~ race 1: read
        dh_done(1);
    if (recvmmsg(ends[0], got, 2, 0, 0) == 2) //~ race 2: write
        dh_done(2);
    return nothing;
}

int main(void) {
    pthread_t thread;
    if (socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) != 0)
        return 1;
    pthread_create(&thread, 0, worker, 0);
    dh_step(1);
    dh_step(2);
    out[1][15] = 1; //~ race 1: write
    dh_use(in[1][15]); //~ race 2: read
    pthread_join(thread, 0);
    return 0;
}
