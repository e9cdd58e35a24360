// Two accesses under two different mutexes are not ordered.
#include <pthread.h>
#include "../order.h"

int value;
pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;

static void *writer(void *nothing) {
    pthread_mutex_lock(&one);
    value = 1; //~ race 1: write
    pthread_mutex_unlock(&one);
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, writer, 0);
    dh_step(1);
    pthread_mutex_lock(&other);
    value = 2; //~ race 1: write
    pthread_mutex_unlock(&other);
    pthread_join(thread, 0);
    return 0;
}
