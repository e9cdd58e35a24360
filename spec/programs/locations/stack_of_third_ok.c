// A local variable that two other threads race on is named by what its own thread did to it.
//! location 1: stack total
//! location 1 online: stack ?
#include <pthread.h>
#include "../order.h"

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *first(void *total) {
    pthread_mutex_lock(&mutex);
    *(int *)total = 1;
    pthread_mutex_unlock(&mutex);
    dh_done(1);
    return 0;
}

static void *second(void *total) {
    dh_step(1);
    pthread_mutex_lock(&mutex);
    *(int *)total = 2;
    pthread_mutex_unlock(&mutex);
    return 0;
}

static __attribute__((noinline, noclone)) int run(int count) {
    int total = count;
    pthread_t threads[2];
    pthread_create(&threads[0], 0, first, &total);
    pthread_create(&threads[1], 0, second, &total);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    return total;
}

int main(int count, char **arguments) {
    (void)arguments;
    dh_use(run(count));
    return 0;
}
