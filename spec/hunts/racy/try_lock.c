// The answer of a try-lock is taken for granted.
#include <pthread.h>
#include "../hunt.h"

int counter;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

WHOLE static int next(int number) {
    return number + 1;
}

static void *worker(void *nothing) {
    int busy = pthread_mutex_trylock(&mutex);
    counter = next(counter); //~ race 1: read, race 1: write, race 2: write, race 2: write
    if (!busy)
        pthread_mutex_unlock(&mutex);
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
