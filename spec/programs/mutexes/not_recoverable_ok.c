// A robust mutex that nobody made consistent cannot be taken any more, and says so.
#include <errno.h>
#include <pthread.h>
#include "../order.h"

int value;
pthread_mutex_t mutex;

static void *dies(void *nothing) {
    pthread_mutex_lock(&mutex);
    return nothing;
}

static void *writer(void *nothing) {
    value = 1;
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_mutexattr_t robust;
    pthread_mutexattr_init(&robust);
    pthread_mutexattr_setrobust(&robust, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&mutex, &robust);

    pthread_t thread;
    pthread_create(&thread, 0, dies, 0);
    pthread_join(thread, 0);
    if (pthread_mutex_lock(&mutex) != EOWNERDEAD)
        return 1;
    pthread_mutex_unlock(&mutex);
    if (pthread_mutex_lock(&mutex) != ENOTRECOVERABLE || pthread_mutex_lock(&mutex) != ENOTRECOVERABLE)
        return 1;

    pthread_create(&thread, 0, writer, 0);
    dh_step(1);
    pthread_join(thread, 0);
    dh_use(value);
    return 0;
}
