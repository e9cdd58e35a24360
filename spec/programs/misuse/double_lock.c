// Who holds a mutex that is not recursive waits for himself when he asks for it again.
#define _GNU_SOURCE
#include <pthread.h>
#include "../order.h"

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *twice(void *nothing) {
    pthread_mutex_lock(&mutex);
    pthread_mutex_lock(&mutex); //~ finding 1: double-lock
    pthread_mutex_unlock(&mutex);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, twice, 0);
    // The thread waits for ever, and the C library's mutex says so: 2 is "held, and somebody waits".
    for (int word = 0; word != 2;) DH_LOAD(word, *(int *)&mutex);
    return 0;
}
