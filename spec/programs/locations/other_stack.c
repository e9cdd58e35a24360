// A thread's local variable races with who was told its address, while the thread lives.
//! location 1: stack local
#include <pthread.h>
#include "../order.h"

int *shared;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *owner(void *nothing) {
    int local = 0;
    pthread_mutex_lock(&mutex);
    shared = &local;
    pthread_mutex_unlock(&mutex);
    local = 1; //~ race 1: write
    dh_done(1);
    dh_step(2);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, owner, 0);
    dh_step(1);
    pthread_mutex_lock(&mutex);
    int *theirs = shared;
    pthread_mutex_unlock(&mutex);
    dh_use(*theirs); //~ race 1: read
    dh_done(2);
    pthread_join(thread, 0);
    return 0;
}
