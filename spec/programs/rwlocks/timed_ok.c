// pthread_rwlock_timedrdlock and timedwrlock whose time ran out have locked nothing.
#include <errno.h>
#include <pthread.h>
#include <time.h>
#include "../order.h"

int value;
pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
struct timespec long_ago = {0, 0}, far_off = {1L << 40, 0};

static void *writer(void *nothing) {
    pthread_rwlock_timedwrlock(&lock, &far_off);
    value = 1;
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
    int read = pthread_rwlock_timedrdlock(&lock, &long_ago);
    int write = pthread_rwlock_timedwrlock(&lock, &long_ago);
    dh_done(2);
    dh_step(3);
    int locked = pthread_rwlock_timedrdlock(&lock, &far_off);
    dh_use(value);
    pthread_rwlock_unlock(&lock);
    pthread_join(thread, 0);
    return read == ETIMEDOUT && write == ETIMEDOUT && locked == 0 ? 0 : 1;
}
