// A sem_timedwait or sem_clockwait that gets its unit in time orders as sem_wait does.
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <time.h>
#include "../order.h"

int one, other;
sem_t semaphore;
struct timespec far_off = {1L << 40, 0};

static void *writer(void *nothing) {
    sem_post(&semaphore);
    one = 1; //~ race 1: write
    dh_done(1);
    dh_step(2);
    sem_post(&semaphore);
    other = 1; //~ race 2: write
    dh_done(3);
    return nothing;
}

int main(void) {
    pthread_t thread;
    sem_init(&semaphore, 0, 0);
    pthread_create(&thread, 0, writer, 0);
    sem_timedwait(&semaphore, &far_off);
    dh_step(1);
    dh_use(one); //~ race 1: read
    dh_done(2);
    sem_clockwait(&semaphore, CLOCK_MONOTONIC, &far_off);
    dh_step(3);
    dh_use(other); //~ race 2: read
    pthread_join(thread, 0);
    return 0;
}
