// What comes before an unlock is ordered before what follows the next lock, held or not.
#include <pthread.h>
#include "../order.h"

int value;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *writer(void *nothing) {
    value = 1;
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, writer, 0);
    dh_step(1);
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    dh_use(value);
    pthread_join(thread, 0);
    return 0;
}
