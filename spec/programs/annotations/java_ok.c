// A lock of a managed object orders what it guards, also where the collector has moved the object.
#include <pthread.h>
#include "../order.h"

void __tsan_java_init(unsigned long start, unsigned long size);
void __tsan_java_alloc(unsigned long object, unsigned long size);
void __tsan_java_move(unsigned long from, unsigned long to, unsigned long size);
void __tsan_java_mutex_lock(unsigned long lock);
void __tsan_java_mutex_unlock(unsigned long lock);

unsigned long heap[64];
int value;

static void *writer(void *nothing) {
    unsigned long lock = (unsigned long)&heap[1];
    __tsan_java_mutex_lock(lock);
    value = 1;
    __tsan_java_mutex_unlock(lock);
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    __tsan_java_init((unsigned long)heap, sizeof heap);
    __tsan_java_alloc((unsigned long)&heap[0], 32);
    pthread_create(&thread, 0, writer, 0);
    dh_step(1);
    __tsan_java_move((unsigned long)&heap[0], (unsigned long)&heap[8], 32);
    unsigned long lock = (unsigned long)&heap[9];
    __tsan_java_mutex_lock(lock);
    dh_use(value);
    __tsan_java_mutex_unlock(lock);
    pthread_join(thread, 0);
    return 0;
}
