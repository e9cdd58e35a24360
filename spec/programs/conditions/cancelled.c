// A thread cancelled while it waits on a condition has the mutex again when its handlers run.
#include <pthread.h>
#include "../order.h"

int value;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

static void clean_up(void *nothing) {
    (void)nothing;
    value = 1; //~ race 1: write
    pthread_mutex_unlock(&mutex);
    dh_done(1);
}

static void *waiter(void *nothing) {
    pthread_mutex_lock(&mutex);
    pthread_cleanup_push(clean_up, nothing);
    for (;;)
        pthread_cond_wait(&condition, &mutex);
    pthread_cleanup_pop(0);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, waiter, 0);
    pthread_cancel(thread);
    dh_step(1);
    dh_use(value); //~ race 1: read
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, 0);
    return 0;
}
