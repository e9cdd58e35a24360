// A mutex is given back by the thread that took it, and by no other.
#include <pthread.h>

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *stranger(void *nothing) {
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_mutex_lock(&mutex);
    pthread_create(&thread, 0, stranger, 0);
    pthread_join(thread, 0);
    pthread_mutex_unlock(&mutex);
    return 0;
}
