// A buffer that is filled as a whole again and again is written anew each time.
#include <pthread.h>
#include <string.h>
#include "../order.h"

char buffer[5000];
unsigned long size = 4990;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *filler(void *nothing) {
    for (int at = 0; at < 3; at++) {
        pthread_mutex_lock(&mutex);
        memset(buffer, at, size);
        pthread_mutex_unlock(&mutex);
    }
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, filler, 0);
    dh_step(1);
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    dh_use(buffer[2500]);
    pthread_join(thread, 0);
    return 0;
}
