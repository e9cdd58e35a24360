// Who holds a mutex that is not recursive waits for himself when he asks for it again.
#define _GNU_SOURCE
#include <pthread.h>
#include "../order.h"

pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

static void *twice(void *nothing) {
    pthread_mutex_lock(&mutex);
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    pthread_mutex_unlock(&mutex);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, twice, 0);
    pthread_join(thread, 0);
    return 0;
}
