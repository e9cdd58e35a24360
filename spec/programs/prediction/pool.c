// Two tasks of a pool share a sum, and only the queue is locked.
//! told by hb: none
//! told by sync-preserving: 1
//! told by sync-reversal: 1
//! told by shb: none
//! told by lockset: 1
//! told by csp: 1
#include <pthread.h>

int tasks = 2, sum;
pthread_mutex_t queue = PTHREAD_MUTEX_INITIALIZER;

static int take(void) {
    pthread_mutex_lock(&queue);
    int task = tasks;
    if (task) tasks--;
    pthread_mutex_unlock(&queue);
    return task;
}

static void *one(void *nothing) {
    if (take()) sum = 1; //~ race 1: write
    pthread_mutex_lock(&queue);
    pthread_mutex_unlock(&queue);
    return nothing;
}

static void *two(void *nothing) {
    pthread_mutex_lock(&queue);
    pthread_mutex_unlock(&queue);
    if (take()) sum = 2; //~ race 1: write
    return nothing;
}

int main(void) {
    pthread_t first, second;
    pthread_create(&first, 0, one, 0);
    pthread_create(&second, 0, two, 0);
    pthread_join(first, 0);
    pthread_join(second, 0);
    return 0;
}
