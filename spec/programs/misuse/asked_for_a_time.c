// Who asks for a time for a mutex that he holds does not wait for himself for ever, and has not got it once more.
#define _GNU_SOURCE
#include <pthread.h>
#include <time.h>
#include "../order.h"

int value;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *asker(void *nothing) {
    struct timespec now;
    pthread_mutex_lock(&mutex);
    clock_gettime(CLOCK_REALTIME, &now);
    if (pthread_mutex_timedlock(&mutex, &now) == 0 || pthread_mutex_clocklock(&mutex, CLOCK_REALTIME, &now) == 0)
        return nothing;
    pthread_mutex_unlock(&mutex);
    value = 1; //~ race 1: write
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, asker, 0);
    dh_step(1);
    pthread_mutex_lock(&mutex);
    dh_use(value); //~ race 1: read
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, 0);
    return 0;
}
