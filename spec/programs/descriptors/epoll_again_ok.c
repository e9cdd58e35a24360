// An `epoll` tells what shows at a pipe also where another one has the pipe, too, and where others had their numbers before.
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
    int sets[2] = {epoll_create1(0), epoll_create1(0)};
    for (int i = 0; i < 100; i++) {
        if (i > 0 && (close(ends[0]) != 0 || close(ends[1]) != 0))
            return 1;
        if (pipe(ends) != 0 || epoll_ctl(sets[0], EPOLL_CTL_ADD, ends[0], &event) != 0 ||
            epoll_ctl(sets[1], EPOLL_CTL_ADD, ends[0], &event) != 0)
            return 1;
    }
    pthread_create(&thread, 0, worker, 0);
    dh_step(1);
    if (epoll_wait(sets[0], &event, 1, -1) != 1)
        return 1;
    dh_use(value);
    pthread_join(thread, 0);
    return 0;
}
