// Who gets one of the messages of `sendmmsg` by `recvmmsg` comes after what was done before it was sent.
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/socket.h>
#include "../order.h"

int value, ends[2];

static struct mmsghdr message(struct iovec *part) {
    struct mmsghdr message = {.msg_hdr = {.msg_iov = part, .msg_iovlen = 1}};
    return message;
}

static void *worker(void *nothing) {
    char out[2] = "12";
    struct iovec parts[2] = {{out, 1}, {out + 1, 1}};
    struct mmsghdr messages[2] = {message(&parts[0]), message(&parts[1])};
    value = 1;
    dh_use(sendmmsg(ends[1], messages, 2, 0));
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    char in[2];
    struct iovec parts[2] = {{in, 1}, {in + 1, 1}};
    struct mmsghdr messages[2] = {message(&parts[0]), message(&parts[1])};
    if (socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) != 0)
        return 1;
    pthread_create(&thread, 0, worker, 0);
    dh_step(1);
    if (recvmmsg(ends[0], messages, 2, 0, 0) != 2)
        return 1;
    dh_use(value);
    pthread_join(thread, 0);
    return 0;
}
