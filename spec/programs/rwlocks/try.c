// pthread_rwlock_tryrdlock and trywrlock that found the lock taken have locked nothing.
#include <errno.h>
#include <pthread.h>
#include "../order.h"

int value;
pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

static void *writer(void *nothing) {
    pthread_rwlock_wrlock(&lock);
    value = 1; //~ race 1: write
    dh_done(1);
    dh_step(2);
    pthread_rwlock_unlock(&lock);
    dh_done(3);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, writer, 0);
    dh_step(1);
    int read = pthread_rwlock_tryrdlock(&lock), write = pthread_rwlock_trywrlock(&lock);
    dh_use(value); //~ race 1: read
    dh_done(2);
    dh_step(3);
    int locked = pthread_rwlock_tryrdlock(&lock);
    pthread_rwlock_unlock(&lock);
    pthread_join(thread, 0);
    return read == EBUSY && write == EBUSY && locked == 0 ? 0 : 1;
}
