// A lock that only one of the two sides takes protects nothing.
#include <pthread.h>
#include "../hunt.h"

int balance;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *deposit(void *nothing) {
    pthread_mutex_lock(&mutex);
    balance = 5;
    pthread_mutex_unlock(&mutex);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, deposit, 0);
    pthread_mutex_lock(&mutex);
    USE(balance);
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, 0);
    return 0;
}
