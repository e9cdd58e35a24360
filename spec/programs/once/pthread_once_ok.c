// Every call of pthread_once returns after the routine: also one that only found it done.
#include <pthread.h>
#include "../order.h"

int value;
pthread_once_t once = PTHREAD_ONCE_INIT;

static void initialise(void) {
    value = 1;
}

static void *first(void *nothing) {
    pthread_once(&once, initialise);
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, first, 0);
    dh_step(1);
    pthread_once(&once, initialise);
    dh_use(value);
    pthread_join(thread, 0);
    return 0;
}
