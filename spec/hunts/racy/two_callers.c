// One function has two callers: only one of them forgets the lock.
#include <pthread.h>
#include "../hunt.h"

int value;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

WHOLE static void set(int number) {
    value = number; //~ race 1: write in set < careless < setter
    APART();
}

WHOLE static void careful(void) {
    pthread_mutex_lock(&mutex);
    set(1);
    pthread_mutex_unlock(&mutex);
}

WHOLE static void careless(void) {
    set(2);
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
    USE(value); //~ race 1: read in main
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, 0);
    return 0;
}
