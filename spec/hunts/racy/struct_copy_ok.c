// A whole structure is copied while one of its fields is written.
#include <pthread.h>
#include "../hunt.h"

struct point { long x, y, z; };
struct point shared = {1, 2, 3}, copy;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *copier(void *nothing) {
    pthread_mutex_lock(&mutex);
    copy = shared;
    pthread_mutex_unlock(&mutex);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, copier, 0);
    pthread_mutex_lock(&mutex);
    shared.y = 4;
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, 0);
    return 0;
}
