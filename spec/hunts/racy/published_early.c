// Double-checked locking with an atomic flag that is set one line too early.
#include <pthread.h>
#include <stdatomic.h>
#include "../hunt.h"

atomic_int ready;
int setting;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

WHOLE static int get(void) {
    if (!ready) {
        pthread_mutex_lock(&mutex);
        if (!ready) {
            ready = 1;
            setting = 7; //~ race 1: write
        }
        pthread_mutex_unlock(&mutex);
    }
    return setting; //~ race 1: read
}

static void *worker(void *nothing) {
    USE(get());
    return nothing;
}

int main(void) {
    pthread_t one, other;
    pthread_create(&one, 0, worker, 0);
    pthread_create(&other, 0, worker, 0);
    pthread_join(one, 0);
    pthread_join(other, 0);
    return 0;
}
