// A value and a plain flag that says it is there: both are read whenever the reader happens to come.
#include <pthread.h>
#include <stdatomic.h>
#include "../hunt.h"

atomic_int value, ready;

static void *writer(void *nothing) {
    value = 7;
    APART();
    ready = 1;
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, writer, 0);
    int seen = ready;
    APART();
    int got = value;
    USE(seen);
    USE(got);
    pthread_join(thread, 0);
    return 0;
}
