// A thread that main's return cuts off has its accesses judged up to there.
#include <pthread.h>
#include <unistd.h>
#include "../order.h"

int value;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *writer(void *nothing) {
    value = 1; //~ race 1: write
    dh_done(1);
    for (;;)
        pause();
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, writer, 0);
    dh_step(1);
    pthread_mutex_lock(&mutex);
    dh_use(value); //~ race 1: read
    pthread_mutex_unlock(&mutex);
    return 0;
}
