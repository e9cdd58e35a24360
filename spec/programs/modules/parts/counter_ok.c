// A counter, in a file of its own.
#include <pthread.h>

int counter;
pthread_mutex_t counter_mutex = PTHREAD_MUTEX_INITIALIZER;

void count(void) {
    pthread_mutex_lock(&counter_mutex);
    counter = 1;
    pthread_mutex_unlock(&counter_mutex);
}

int counted(void) {
    pthread_mutex_lock(&counter_mutex);
    int result = counter;
    pthread_mutex_unlock(&counter_mutex);
    return result;
}
