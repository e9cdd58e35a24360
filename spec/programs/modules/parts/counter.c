// A counter, in a file of its own.
#include <pthread.h>

int counter;
pthread_mutex_t counter_mutex = PTHREAD_MUTEX_INITIALIZER;

void count(void) {
    pthread_mutex_lock(&counter_mutex);
    counter = 1; //~ race 1: write
    pthread_mutex_unlock(&counter_mutex);
}

int counted(void) {
    int result = counter; //~ race 1: read
    return result;
}
