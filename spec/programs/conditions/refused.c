// A wait that is refused, since the mutex is not the caller's, neither gives it back nor takes it.
#include <errno.h>
#include <pthread.h>
#include "../order.h"

pthread_mutex_t mutex;
pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
int value;

static void *writer(void *nothing) {
    dh_step(0);
    pthread_mutex_lock(&mutex);
    value = 2; //~ race 1: write
    pthread_mutex_unlock(&mutex);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&mutex, &attributes);
    pthread_create(&thread, 0, writer, 0);
    value = 1; //~ race 1: write
    if (pthread_cond_wait(&condition, &mutex) != EPERM)
        return 1;
    dh_done(0);
    pthread_join(thread, 0);
    return 0;
}
