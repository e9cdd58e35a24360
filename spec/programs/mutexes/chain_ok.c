// Order is passed on from thread to thread, by one mutex and then by another.
#include <pthread.h>
#include "../order.h"

int value;
pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;

static void visit(pthread_mutex_t *mutex) {
    pthread_mutex_lock(mutex);
    pthread_mutex_unlock(mutex);
}

static void *writer(void *nothing) {
    value = 1;
    visit(&one);
    dh_done(1);
    return nothing;
}

static void *messenger(void *nothing) {
    dh_step(1);
    visit(&one);
    visit(&other);
    dh_done(2);
    return nothing;
}

int main(void) {
    pthread_t first, second;
    pthread_create(&first, 0, writer, 0);
    pthread_create(&second, 0, messenger, 0);
    dh_step(2);
    visit(&other);
    dh_use(value);
    pthread_join(first, 0);
    pthread_join(second, 0);
    return 0;
}
