// A broadcast wakes all who wait, and the mutex orders each of them.
#include <pthread.h>
#include "../order.h"

int go, woken, value;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

static void await_go(void) {
    pthread_mutex_lock(&mutex);
    while (!go)
        pthread_cond_wait(&condition, &mutex);
    woken = woken + 1;
    pthread_mutex_unlock(&mutex);
}

static void *first(void *nothing) {
    await_go();
    value = 1; //~ race 1: write
    dh_done(1);
    return nothing;
}

static void *second(void *nothing) {
    await_go();
    dh_step(1);
    dh_use(value); //~ race 1: read
    return nothing;
}

int main(void) {
    pthread_t one, other;
    pthread_create(&one, 0, first, 0);
    pthread_create(&other, 0, second, 0);
    pthread_mutex_lock(&mutex);
    go = 1;
    pthread_cond_broadcast(&condition);
    pthread_mutex_unlock(&mutex);
    pthread_join(one, 0);
    pthread_join(other, 0);
    return woken == 2 ? 0 : 1;
}
