// What a program's own lock calls back is seen, accesses and order alike.
#include <pthread.h>
#include "../order.h"

void __tsan_mutex_pre_lock(void *lock, unsigned flags);
void __tsan_mutex_post_lock(void *lock, unsigned flags, int depth);
void __tsan_mutex_pre_divert(void *lock, unsigned flags);
void __tsan_mutex_post_divert(void *lock, unsigned flags);

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
int lock, value;

static void *writer(void *nothing) {
    dh_step(0);
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    value = 2;
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, writer, 0);
    __tsan_mutex_pre_lock(&lock, 0);
    __tsan_mutex_pre_divert(&lock, 0);
    value = 1;
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    __tsan_mutex_post_divert(&lock, 0);
    __tsan_mutex_post_lock(&lock, 0, 0);
    dh_done(0);
    pthread_join(thread, 0);
    return 0;
}
