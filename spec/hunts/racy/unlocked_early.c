// A value is read under the lock and written back behind it.
#include <pthread.h>
#include "../hunt.h"

int stock = 10;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *sell(void *nothing) {
    pthread_mutex_lock(&mutex);
    int seen = stock; //~ race 1: read
    pthread_mutex_unlock(&mutex);
    stock = seen - 1; //~ race 1: write, race 2: write, race 2: write
    return nothing;
}

int main(void) {
    pthread_t one, other;
    pthread_create(&one, 0, sell, 0);
    pthread_create(&other, 0, sell, 0);
    pthread_join(one, 0);
    pthread_join(other, 0);
    return 0;
}
