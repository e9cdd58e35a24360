// A mutex that was destroyed is to be made anew before it is used.
#include <pthread.h>

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

int main(void) {
    pthread_mutex_destroy(&mutex);
    pthread_mutex_init(&mutex, 0);
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    return 0;
}
