// The check is made without the lock that the act takes.
#include <pthread.h>
#include "../hunt.h"

int seats = 2;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

WHOLE static int less(int number) {
    return number - 1;
}

static void *book(void *nothing) {
    int left = seats; //~ race 1: read
    if (left > 0) {
        pthread_mutex_lock(&mutex);
        seats = less(seats); //~ race 1: write
        pthread_mutex_unlock(&mutex);
    }
    return nothing;
}

int main(void) {
    pthread_t one, other;
    pthread_create(&one, 0, book, 0);
    pthread_create(&other, 0, book, 0);
    pthread_join(one, 0);
    pthread_join(other, 0);
    return 0;
}
