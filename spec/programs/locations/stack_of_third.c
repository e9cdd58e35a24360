// A local variable that two other threads race on is named by what its own thread did to it.
//! location 1: stack total
//! location 1 online: stack ?
#include <pthread.h>
#include "../order.h"

static void *first(void *total) {
    *(int *)total = 1; //~ race 1: write
    dh_done(1);
    return 0;
}

static void *second(void *total) {
    dh_step(1);
    *(int *)total = 2; //~ race 1: write
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
