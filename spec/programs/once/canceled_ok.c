// A routine of pthread_once whose thread was cancelled is called again.
#include <pthread.h>
#include <unistd.h>
#include "../order.h"

int value;
pthread_once_t once = PTHREAD_ONCE_INIT;

static void initialise(void) {
    if (dh_reached[1] == 0) {
        dh_done(1);
        for (;;)
            pause();
    }
    value = 1;
}

static void *call(void *step) {
    pthread_once(&once, initialise);
    dh_done((int)(long)step);
    return step;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, call, (void *)2);
    dh_step(1);
    pthread_cancel(thread);
    pthread_join(thread, 0);
    pthread_create(&thread, 0, call, (void *)3);
    dh_step(3);
    pthread_once(&once, initialise);
    dh_use(value);
    pthread_join(thread, 0);
    return 0;
}
