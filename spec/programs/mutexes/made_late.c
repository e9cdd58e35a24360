// To make a mutex is to write to it: that its first user can lock it does not put the making before.
#include <pthread.h>
#include "../order.h"

pthread_mutex_t mutex;

static void *user(void *nothing) {
    dh_step(1);
    pthread_mutex_lock(&mutex); //~ race 1: read
    pthread_mutex_unlock(&mutex);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, user, 0);
    pthread_mutex_init(&mutex, 0); //~ race 1: write
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    dh_done(1);
    pthread_join(thread, 0);
    return 0;
}
