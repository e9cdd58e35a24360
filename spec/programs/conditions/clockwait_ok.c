// pthread_cond_clockwait takes the mutex again, woken or late.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <time.h>
#include "../order.h"

int value, ready;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
struct timespec long_ago = {0, 0}, far_off = {1L << 40, 0};

static void *waker(void *nothing) {
    pthread_mutex_lock(&mutex);
    value = 1;
    ready = 1;
    pthread_cond_signal(&condition);
    pthread_mutex_unlock(&mutex);
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_mutex_lock(&mutex);
    int late = pthread_cond_clockwait(&condition, &mutex, CLOCK_MONOTONIC, &long_ago);
    pthread_create(&thread, 0, waker, 0);
    while (!ready)
        pthread_cond_clockwait(&condition, &mutex, CLOCK_MONOTONIC, &far_off);
    dh_step(1);
    dh_use(value);
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, 0);
    return late == ETIMEDOUT ? 0 : 1;
}
