// Who is told by an `epoll` that a signal shows at a `signalfd` comes after what was done before it was sent.
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include "../order.h"

int value;

static void *worker(void *from) {
    struct epoll_event event;
    if (epoll_wait(*(int *)from, &event, 1, -1) != 1)
        return from;
    dh_step(1);
    dh_use(value); //~ race 1: read
    return 0;
}

int main(void) {
    pthread_t thread;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, 0);
    int file = signalfd(-1, &set, 0);
    struct epoll_event event = {.events = EPOLLIN};
    int epoll = epoll_create1(0);
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, file, &event) != 0)
        return 1;
    pthread_create(&thread, 0, worker, &epoll);
    kill(getpid(), SIGUSR1);
    value = 1; //~ race 1: write
    dh_done(1);
    pthread_join(thread, 0);
    return 0;
}
