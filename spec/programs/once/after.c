// pthread_once passes on its routine, not what the thread that ran it did afterwards.
#include <pthread.h>
#include "../order.h"

int value;
pthread_once_t once = PTHREAD_ONCE_INIT;

static void initialise(void) {
}

static void *first(void *nothing) {
    pthread_once(&once, initialise);
    value = 1; //~ race 1: write
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, first, 0);
    dh_step(1);
    pthread_once(&once, initialise);
    dh_use(value); //~ race 1: read
    pthread_join(thread, 0);
    return 0;
}
