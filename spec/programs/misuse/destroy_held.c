// A mutex is destroyed when nobody holds it.
#include <pthread.h>

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

int main(void) {
    pthread_mutex_lock(&mutex);
    pthread_mutex_destroy(&mutex); //~ finding 1: destroy-locked
    return 0;
}
