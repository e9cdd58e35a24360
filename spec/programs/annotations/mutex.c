// A lock of the program's own making orders if it is announced as a mutex.
#include <pthread.h>
#include "../order.h"

void __tsan_mutex_create(void *mutex, unsigned flags);
void __tsan_mutex_pre_lock(void *mutex, unsigned flags);
void __tsan_mutex_post_lock(void *mutex, unsigned flags, int recursion);
int __tsan_mutex_pre_unlock(void *mutex, unsigned flags);
void __tsan_mutex_post_unlock(void *mutex, unsigned flags);

int value, mutex;

static void lock(void) {
}

static void unlock(void) {
}

static void *writer(void *nothing) {
    lock();
    value = 1; //~ race 1: write
    unlock();
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    __tsan_mutex_create(&mutex, 0);
    pthread_create(&thread, 0, writer, 0);
    dh_step(1);
    lock();
    dh_use(value); //~ race 1: read
    unlock();
    pthread_join(thread, 0);
    return 0;
}
