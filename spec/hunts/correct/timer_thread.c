// The thread that a timer starts writes a plain value and sends a byte; who has read the byte reads the value.
#include <signal.h>
#include <time.h>
#include <unistd.h>
#include "../hunt.h"

int value, ends[2];

static void expired(union sigval argument) {
    value = argument.sival_int;
    if (write(ends[1], "x", 1) != 1)
        value = 0;
}

int main(void) {
    timer_t timer;
    char byte;
    struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_value.sival_int = 5};
    struct itimerspec soon = {.it_value.tv_nsec = 1000000};
    event.sigev_notify_function = expired;
    if (pipe(ends) || timer_create(CLOCK_MONOTONIC, &event, &timer))
        return 1;
    value = 1;
    if (timer_settime(timer, 0, &soon, 0) || read(ends[0], &byte, 1) != 1)
        return 1;
    USE(value);
    value = 2;
    return 0;
}
