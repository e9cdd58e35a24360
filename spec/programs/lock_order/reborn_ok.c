// A mutex that was destroyed and made anew at the same place is another one.
#include <pthread.h>
#include "../order.h"

pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;

static void *forwards(void *nothing) {
    pthread_mutex_lock(&one);
    pthread_mutex_lock(&other);
    pthread_mutex_unlock(&other);
    pthread_mutex_unlock(&one);
    pthread_mutex_lock(&other);
    pthread_mutex_destroy(&one);
    pthread_mutex_init(&one, 0);
    pthread_mutex_unlock(&other);
    dh_done(1);
    return nothing;
}

static void *backwards(void *nothing) {
    dh_step(1);
    pthread_mutex_lock(&other);
    pthread_mutex_lock(&one);
    pthread_mutex_unlock(&one);
    pthread_mutex_unlock(&other);
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
