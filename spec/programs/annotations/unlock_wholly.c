// An announced lock that is held twice can be given back at once, and be taken as often again.
#include <pthread.h>
#include "../order.h"

void __tsan_mutex_create(void *lock, unsigned flags);
void __tsan_mutex_pre_lock(void *lock, unsigned flags);
void __tsan_mutex_post_lock(void *lock, unsigned flags, int depth);
int __tsan_mutex_pre_unlock(void *lock, unsigned flags);
void __tsan_mutex_post_unlock(void *lock, unsigned flags);

enum { REENTRANT = 1 << 1, LOCK_DEEPLY = 1 << 6, UNLOCK_WHOLLY = 1 << 7 };

int lock, value;

static void take(unsigned flags, int depth) {
    __tsan_mutex_pre_lock(&lock, flags);
    __tsan_mutex_post_lock(&lock, flags, depth);
}

static int give(unsigned flags) {
    int depth = __tsan_mutex_pre_unlock(&lock, flags);
    __tsan_mutex_post_unlock(&lock, flags);
    return depth;
}

static void *writer(void *nothing) {
    dh_step(0);
    take(0, 0);
    give(0);
    value = 2; //~ race 1: write
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    __tsan_mutex_create(&lock, REENTRANT);
    pthread_create(&thread, 0, writer, 0);
    take(0, 0);
    take(0, 0);
    value = 1;
    int depth = give(UNLOCK_WHOLLY);
    dh_done(0);
    dh_step(1);
    take(LOCK_DEEPLY, depth);
    dh_use(value); //~ race 1: read
    give(0);
    give(0);
    pthread_join(thread, 0);
    return 0;
}
