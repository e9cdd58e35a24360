// One function has two callers: only one of them forgets the lock.
#include <pthread.h>
#include "../hunt.h"

int value;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

WHOLE static void set(int number) {
    value = number;
    APART();
}

WHOLE static void careful(void) {
    pthread_mutex_lock(&mutex);
    set(1);
    pthread_mutex_unlock(&mutex);
}

WHOLE static void careless(void) {
    pthread_mutex_lock(&mutex);
    set(2);
    pthread_mutex_unlock(&mutex);
    APART();
}

WHOLE static void *setter(void *nothing) {
    careful();
    careless();
    careful();
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, setter, 0);
    pthread_mutex_lock(&mutex);
    USE(value);
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, 0);
    return 0;
}
