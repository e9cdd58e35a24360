// Double-checked locking looks at a plain flag: the first look is not ordered with the setting.
#include <pthread.h>
#include "../hunt.h"

int ready;
int setting;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

WHOLE static int get(void) {
    if (!ready) { //~ race 1: read
        pthread_mutex_lock(&mutex);
        if (!ready) {
            setting = 7; //~ unmet 2: write
            ready = 1; //~ race 1: write
        }
        pthread_mutex_unlock(&mutex);
    }
    return setting; //~ unmet 2: read
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
