// Three threads that take three mutexes in a circle can wait for each other.
#include <pthread.h>
#include "../order.h"

pthread_mutex_t mutexes[3] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};

static void *nested(void *number) {
    long first = (long)number, second = (first + 1) % 3;
    dh_step((int)first);
    if (first > second) {
        long swapped = first;
        first = second;
        second = swapped;
    }
    pthread_mutex_lock(&mutexes[first]);
    pthread_mutex_lock(&mutexes[second]);
    pthread_mutex_unlock(&mutexes[second]);
    pthread_mutex_unlock(&mutexes[first]);
    dh_done((int)(long)number + 1);
    return 0;
}

int main(void) {
    pthread_t threads[3];
    dh_done(0);
    for (long number = 0; number < 3; number++) pthread_create(&threads[number], 0, nested, (void *)number);
    for (int number = 0; number < 3; number++) pthread_join(threads[number], 0);
    return 0;
}
