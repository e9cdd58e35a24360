// The check is made without the lock that the act takes.
#include <pthread.h>
#include "../hunt.h"

int seats = 2;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

WHOLE static int less(int number) {
    return number - 1;
}

static void *book(void *nothing) {
    pthread_mutex_lock(&mutex);
    int left = seats;
    if (left > 0) {
        seats = less(seats);
    }
    pthread_mutex_unlock(&mutex);
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
