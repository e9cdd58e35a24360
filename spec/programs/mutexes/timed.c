// A pthread_mutex_timedlock whose time ran out has locked nothing; one that succeeds has.
#include <errno.h>
#include <pthread.h>
#include "../order.h"

int value;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
struct timespec long_ago = {0, 0}, far_off = {1L << 40, 0};

static void *writer(void *nothing) {
    pthread_mutex_lock(&mutex);
    value = 1; //~ race 1: write
    dh_done(1);
    dh_step(2);
    pthread_mutex_unlock(&mutex);
    dh_done(3);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, writer, 0);
    dh_step(1);
    int late = pthread_mutex_timedlock(&mutex, &long_ago);
    dh_use(value); //~ race 1: read
    dh_done(2);
    dh_step(3);
    int locked = pthread_mutex_timedlock(&mutex, &far_off);
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, 0);
    return late == ETIMEDOUT && locked == 0 ? 0 : 1;
}
