// Who reads a `timerfd` that ran out comes after what was done before it was set.
#include <pthread.h>
#include <stdint.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include "../order.h"

int value, file;

static void *worker(void *nothing) {
    uint64_t times;
    if (read(file, &times, sizeof times) != sizeof times)
        return nothing;
    dh_step(1);
    dh_use(value); //~ race 1: read
    return nothing;
}

int main(void) {
    pthread_t thread;
    struct itimerspec soon = {.it_value = {.tv_nsec = 1}};
    file = timerfd_create(CLOCK_MONOTONIC, 0);
    pthread_create(&thread, 0, worker, 0);
    timerfd_settime(file, 0, &soon, 0);
    value = 1; //~ race 1: write
    dh_done(1);
    pthread_join(thread, 0);
    return 0;
}
