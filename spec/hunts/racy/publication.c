// A value and a plain flag that says it is there: both are read whenever the reader happens to come.
#include <pthread.h>
#include "../hunt.h"

int value, ready;

static void *writer(void *nothing) {
    value = 7; //~ race 1: write
    APART();
    ready = 1; //~ race 2: write
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, writer, 0);
    int seen = ready; //~ race 2: read
    APART();
    int got = value; //~ race 1: read
    USE(seen);
    USE(got);
    pthread_join(thread, 0);
    return 0;
}
