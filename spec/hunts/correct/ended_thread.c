// A thread is known to have ended, without any join, when its robust mutex says that its owner died.
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include "../hunt.h"

int value;
atomic_int held;
pthread_mutex_t mutex;

static void *worker(void *nothing) {
    pthread_mutex_lock(&mutex);
    atomic_store_explicit(&held, 1, memory_order_relaxed);
    value = 1;
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&mutex, &attributes);
    pthread_create(&thread, 0, worker, 0);
    pthread_detach(thread);
    while (!atomic_load_explicit(&held, memory_order_relaxed))
        sched_yield();
    if (pthread_mutex_lock(&mutex) != EOWNERDEAD)
        return 1;
    USE(value);
    value = 2;
    pthread_mutex_consistent(&mutex);
    pthread_mutex_unlock(&mutex);
    return 0;
}
