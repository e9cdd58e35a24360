// Opposite orders under a third mutex, which all take first, make nobody wait for ever.
#include <pthread.h>
#include "../order.h"

pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;

static void nested(pthread_mutex_t *first, pthread_mutex_t *second) {
    pthread_mutex_lock(first);
    pthread_mutex_lock(second); //~ finding 1: lock-order
    pthread_mutex_unlock(second);
    pthread_mutex_unlock(first);
}

static void *forwards(void *nothing) {
    nested(&one, &other);
    dh_done(1);
    return nothing;
}

static void *backwards(void *nothing) {
    dh_step(1);
    nested(&other, &one);
    return nothing;
}

int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], 0, forwards, 0);
    pthread_create(&threads[1], 0, backwards, 0);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    return 0;
}
