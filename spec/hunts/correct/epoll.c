// Two eventfds watched by one epoll hand over what each of two threads has written.
#include <pthread.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "../hunt.h"

int values[2], events[2];

static void *worker(void *argument) {
    const int *number = argument;
    uint64_t one = 1;
    values[*number] = 1;
    if (write(events[*number], &one, sizeof one) != sizeof one)
        return 0;
    return 0;
}

int main(void) {
    pthread_t threads[2];
    int numbers[2] = {0, 1}, poll = epoll_create1(0);
    for (int i = 0; i < 2; i++) {
        struct epoll_event wanted = {.events = EPOLLIN, .data.u32 = (unsigned)i};
        events[i] = eventfd(0, 0);
        if (events[i] < 0 || epoll_ctl(poll, EPOLL_CTL_ADD, events[i], &wanted))
            return 1;
        pthread_create(&threads[i], 0, worker, &numbers[i]);
    }
    for (int seen = 0; seen < 2; seen++) {
        struct epoll_event event;
        uint64_t count;
        if (epoll_wait(poll, &event, 1, -1) != 1 ||
            read(events[event.data.u32], &count, sizeof count) != sizeof count)
            return 1;
        USE(values[event.data.u32]);
        values[event.data.u32] = 2;
    }
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    return 0;
}
