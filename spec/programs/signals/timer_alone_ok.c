// The function that a timer calls in a thread of its own races with what the only other thread does since the timer was set.
#define _GNU_SOURCE
#include <semaphore.h>
#include <signal.h>
#include <time.h>
#include "../order.h"

struct {
    int value;
    sem_t done;
} job;

static void ran_out(union sigval given) {
    dh_use(given.sival_ptr == &job);
    dh_step(1);
    dh_use(job.value);
    sem_post(&job.done);
}

int main(void) {
    timer_t timer;
    struct sigevent wish = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = ran_out, .sigev_value.sival_ptr = &job};
    struct itimerspec soon = {.it_value = {.tv_nsec = 1}};
    sem_init(&job.done, 0, 0);
    if (timer_create(CLOCK_MONOTONIC, &wish, &timer) != 0)
        return 1;
    job.value = 1;
    timer_settime(timer, 0, &soon, 0);
    dh_done(1);
    sem_wait(&job.done);
    timer_delete(timer);
    return 0;
}
