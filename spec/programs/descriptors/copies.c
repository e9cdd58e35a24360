// What goes in through a copy of an `epoll` or an `eventfd` shows at the original, and is ordered as if there were one.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "../order.h"

int value, other, ends[2], set_copy, event_copy;

static void *worker(void *nothing) {
    struct epoll_event event = {.events = EPOLLIN};
    uint64_t one = 1;
    dh_use(epoll_ctl(set_copy, EPOLL_CTL_ADD, ends[0], &event));
    value = 1; //~ race 1: write
    dh_use(write(event_copy, &one, sizeof one));
    other = 1; //~ race 2: write
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    struct epoll_event found;
    uint64_t got;
    int set = epoll_create1(0), event = eventfd(0, 0);
    set_copy = fcntl(set, F_DUPFD_CLOEXEC, 0);
    event_copy = dup(event);
    if (set_copy < 0 || event_copy < 0 || pipe(ends) != 0 || write(ends[1], "x", 1) != 1)
        return 1;
    pthread_create(&thread, 0, worker, 0);
    dh_step(1);
    if (epoll_wait(set, &found, 1, -1) != 1)
        return 1;
    dh_use(value); //~ race 1: read
    if (read(event, &got, sizeof got) != sizeof got)
        return 1;
    dh_use(other); //~ race 2: read
    pthread_join(thread, 0);
    return 0;
}
