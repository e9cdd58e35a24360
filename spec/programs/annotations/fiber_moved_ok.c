// A fiber that goes on in another thread owns there what it locks there.
#define _GNU_SOURCE
#include <pthread.h>
#include "../order.h"

void *__tsan_get_current_fiber(void);
void *__tsan_create_fiber(unsigned flags);
void __tsan_switch_to_fiber(void *fiber, unsigned flags);

pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
void *fiber;
int value;

static void *goes_on(void *nothing) {
    void *own = __tsan_get_current_fiber();
    dh_step(0);
    __tsan_switch_to_fiber(fiber, 0);
    pthread_mutex_lock(&mutex);
    value = 1;
    pthread_mutex_unlock(&mutex);
    __tsan_switch_to_fiber(own, 0);
    dh_done(1);
    return nothing;
}

static void *writer(void *nothing) {
    dh_step(1);
    pthread_mutex_lock(&mutex);
    value = 2;
    pthread_mutex_unlock(&mutex);
    return nothing;
}

int main(void) {
    pthread_t first, second;
    void *own = __tsan_get_current_fiber();
    fiber = __tsan_create_fiber(0);
    pthread_create(&first, 0, goes_on, 0);
    pthread_create(&second, 0, writer, 0);
    __tsan_switch_to_fiber(fiber, 0);
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    __tsan_switch_to_fiber(own, 0);
    dh_done(0);
    pthread_join(first, 0);
    pthread_join(second, 0);
    return 0;
}
