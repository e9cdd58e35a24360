// Who is told by an `epoll` that something shows at a pipe comes after what was done before it went in, also if nothing is read.
#include <pthread.h>
#include <sys/epoll.h>
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
    struct epoll_event event = {.events = EPOLLIN};
    int set = epoll_create1(0);
    if (pipe(ends) != 0 || epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &event) != 0)
        return 1;
    pthread_create(&thread, 0, worker, 0);
    dh_step(1);
    if (epoll_wait(set, &event, 1, -1) != 1)
        return 1;
    dh_use(value);
    pthread_join(thread, 0);
    return 0;
}
