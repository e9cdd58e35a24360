// Who gets a robust mutex from a thread that died holding it sees what that one did with it.
#include <errno.h>
#include <pthread.h>
#include "../order.h"

int value;
pthread_mutex_t mutex;

static void *writer(void *nothing) {
    pthread_mutex_lock(&mutex);
    value = 1; //~ race 1: write
    dh_leave(1);
    return nothing;
}

int main(void) {
    pthread_mutexattr_t attributes;
    pthread_t thread;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&mutex, &attributes);
    pthread_create(&thread, 0, writer, 0);
    dh_gone(1);
    dh_use(value); //~ race 1: read
    int inherited = pthread_mutex_lock(&mutex);
    pthread_mutex_consistent(&mutex);
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, 0);
    return inherited == EOWNERDEAD ? 0 : 1;
}
