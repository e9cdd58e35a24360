// A sem_trywait or sem_timedwait that got nothing orders nothing; one that got a unit does.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <time.h>
#include "../order.h"

int value;
sem_t semaphore;
struct timespec long_ago = {0, 0};

static void *writer(void *nothing) {
    value = 1; //~ race 1: write
    sem_post(&semaphore);
    sem_wait(&semaphore);
    dh_done(1);
    dh_step(2);
    sem_post(&semaphore);
    dh_done(3);
    return nothing;
}

int main(void) {
    pthread_t thread;
    sem_init(&semaphore, 0, 0);
    pthread_create(&thread, 0, writer, 0);
    dh_step(1);
    int none = sem_trywait(&semaphore), late = sem_timedwait(&semaphore, &long_ago);
    int later = sem_clockwait(&semaphore, CLOCK_MONOTONIC, &long_ago);
    dh_use(value); //~ race 1: read
    dh_done(2);
    dh_step(3);
    int got = sem_trywait(&semaphore);
    pthread_join(thread, 0);
    return none == -1 && late == -1 && later == -1 && got == 0 ? 0 : 1;
}
