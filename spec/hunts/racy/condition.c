// The predicate of a condition variable is set without the mutex under which it is looked at.
#include <pthread.h>
#include "../hunt.h"

int done;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void *worker(void *nothing) {
    done = 1; //~ race 1: write
    pthread_mutex_lock(&mutex);
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&mutex);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, worker, 0);
    pthread_mutex_lock(&mutex);
    while (!done) //~ race 1: read
        pthread_cond_wait(&changed, &mutex);
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, 0);
    return 0;
}
