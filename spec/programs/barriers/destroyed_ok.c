// Who destroys a barrier must know that the others are through, not only that they came.
#include <pthread.h>
#include "../order.h"

pthread_barrier_t barrier;

static void *other(void *nothing) {
    pthread_barrier_wait(&barrier);
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_barrier_init(&barrier, 0, 2);
    pthread_create(&thread, 0, other, 0);
    pthread_barrier_wait(&barrier);
    dh_step(1);
    pthread_join(thread, 0);
    pthread_barrier_destroy(&barrier);
    return 0;
}
