// A wait that ends with the mutex of a thread which died holding it comes behind what that thread did.
#include <errno.h>
#include <pthread.h>
#include "../order.h"

pthread_mutex_t mutex;
pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
int ready, value;

static void *dies(void *nothing) {
    dh_step(0);
    pthread_mutex_lock(&mutex);
    ready = 1;
    pthread_cond_signal(&condition);
    value = 1;
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&mutex, &attributes);
    pthread_create(&thread, 0, dies, 0);
    int result = 0;
    pthread_mutex_lock(&mutex);
    dh_done(0);
    while (!ready)
        result = pthread_cond_wait(&condition, &mutex);
    value = 2;
    if (result == EOWNERDEAD)
        pthread_mutex_consistent(&mutex);
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, 0);
    return 0;
}
