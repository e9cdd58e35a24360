// A plain flag that is looked at before the value: the looks at the flag meet, those at the value cannot.
#include <pthread.h>
#include <stdatomic.h>
#include "../hunt.h"

int value;
atomic_int ready;

static void *writer(void *nothing) {
    value = 7;
    APART();
    ready = 1;
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, writer, 0);
    if (ready) {
        APART();
        USE(value);
    }
    pthread_join(thread, 0);
    return 0;
}
