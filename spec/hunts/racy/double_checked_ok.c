// Double-checked locking looks at a plain flag: the first look is not ordered with the setting.
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
            setting = 7;
            ready = 1;
        }
        pthread_mutex_unlock(&mutex);
    }
    return setting;
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
