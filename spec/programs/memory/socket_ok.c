// send reads its buffer and recv writes into its own.
#include <pthread.h>
#include <sys/socket.h>
#include "../order.h"

int ends[2];
char in[16], out[16];

static void *worker(void *nothing) {
    if (send(ends[1], out, 16, 0) == 16)
        dh_done(1);
    if (recv(ends[0], in, 16, 0) == 16)
        dh_done(2);
    return nothing;
}

int main(void) {
    pthread_t thread;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
        return 1;
    pthread_create(&thread, 0, worker, 0);
    dh_step(1);
    dh_step(2);
    pthread_join(thread, 0);
    out[15] = 1;
    dh_use(in[15]);
    return 0;
}
