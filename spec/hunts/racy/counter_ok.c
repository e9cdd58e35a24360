// Two threads count without a lock: a step of one can fall between the load and the store of the other.
#include <pthread.h>
#include "../hunt.h"

int counter;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

WHOLE static int next(int number) {
    return number + 1;
}

static void *count(void *nothing) {
    for (int i = 0; i < 3; i++) {
        pthread_mutex_lock(&mutex);
        counter = next(counter);
        APART();
        pthread_mutex_unlock(&mutex);
    }
    return nothing;
}

int main(void) {
    pthread_t one, other;
    pthread_create(&one, 0, count, 0);
    pthread_create(&other, 0, count, 0);
    pthread_join(one, 0);
    pthread_join(other, 0);
    return 0;
}
