// Each side holds a mutex, but not the same one.
#include <pthread.h>
#include "../hunt.h"

int total;
pthread_mutex_t in = PTHREAD_MUTEX_INITIALIZER;

static void *income(void *nothing) {
    pthread_mutex_lock(&in);
    total = 100;
    pthread_mutex_unlock(&in);
    return nothing;
}

static void *expense(void *nothing) {
    pthread_mutex_lock(&in);
    total = 50;
    pthread_mutex_unlock(&in);
    return nothing;
}

int main(void) {
    pthread_t one, other;
    pthread_create(&one, 0, income, 0);
    pthread_create(&other, 0, expense, 0);
    pthread_join(one, 0);
    pthread_join(other, 0);
    return 0;
}
