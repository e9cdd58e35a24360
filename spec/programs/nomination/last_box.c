// All boxes are announced together, before the last one is filled. Filling and emptying are one line each: only their last
// times can meet, and the run orders these by a lock of something else.
#include <pthread.h>

#define BOXES 8

int box[BOXES], full, sum, line;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, log_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t announced = PTHREAD_COND_INITIALIZER;

__attribute__((noinline)) static void announce(int boxes) {
    if (boxes < BOXES) return;
    pthread_mutex_lock(&m);
    full = 1;
    pthread_cond_signal(&announced);
    pthread_mutex_unlock(&m);
}

static void *one(void *nothing) {
    for (int i = 0; i < BOXES; i++) {
        announce(i + 1);
        box[i] = i; //~ race 1: write
    }
    pthread_mutex_lock(&log_lock);
    line = 1;
    pthread_mutex_unlock(&log_lock);
    return nothing;
}

static void *two(void *nothing) {
    pthread_mutex_lock(&m);
    while (!full) pthread_cond_wait(&announced, &m);
    pthread_mutex_unlock(&m);
    pthread_mutex_lock(&log_lock);
    line = 2;
    pthread_mutex_unlock(&log_lock);
    for (int i = 0; i < BOXES; i++) sum += box[i]; //~ race 1: read
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
