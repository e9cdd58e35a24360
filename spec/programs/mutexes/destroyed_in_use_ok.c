// To destroy a mutex is to write to it: who still gives it back races with that.
#include <pthread.h>
#include "../order.h"

pthread_mutex_t mutex;

static void *user(void *nothing) {
    pthread_mutex_trylock(&mutex);
    pthread_mutex_unlock(&mutex);
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_mutex_init(&mutex, 0);
    pthread_create(&thread, 0, user, 0);
    dh_step(1);
    pthread_join(thread, 0);
    pthread_mutex_destroy(&mutex);
    return 0;
}
