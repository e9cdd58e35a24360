// Who comes first makes the table; two can come first.
#include <pthread.h>
#include "../hunt.h"

int storage[4] = {1, 2, 3, 4};
int *table;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

WHOLE static int *make(void) {
    return storage;
}

WHOLE static int *get(void) {
    pthread_mutex_lock(&mutex);
    int *made = table;
    if (!made) {
        made = make();
        table = made;
    }
    pthread_mutex_unlock(&mutex);
    return made;
}

static void *worker(void *nothing) {
    USE(get()[2]);
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
