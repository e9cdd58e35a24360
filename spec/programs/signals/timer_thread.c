// The function that a timer calls in a thread of its own comes after what was done before the timer was set.
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <time.h>
#include "../order.h"

struct {
    int value;
    sem_t done;
} job;

static void *worker(void *nothing) {
    dh_step(2);
    return nothing;
}

static void ran_out(union sigval given) {
    dh_use(given.sival_ptr == &job);
    dh_step(1);
    dh_use(job.value); //~ race 1: read
    sem_post(&job.done);
}

int main(void) {
    pthread_t thread;
    timer_t timer;
    struct sigevent wish = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = ran_out, .sigev_value.sival_ptr = &job};
    struct itimerspec soon = {.it_value = {.tv_nsec = 1}};
    sem_init(&job.done, 0, 0);
    pthread_create(&thread, 0, worker, 0);
    if (timer_create(CLOCK_MONOTONIC, &wish, &timer) != 0)
        return 1;
    timer_settime(timer, 0, &soon, 0);
    job.value = 1; //~ race 1: write
    dh_done(1);
    sem_wait(&job.done);
    timer_delete(timer);
    dh_done(2);
    pthread_join(thread, 0);
    return 0;
}
