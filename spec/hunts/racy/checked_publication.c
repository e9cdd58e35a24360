// A plain flag that is looked at before the value: the looks at the flag meet, those at the value cannot.
#include <pthread.h>
#include "../hunt.h"

int value;
int ready;

static void *writer(void *nothing) {
    value = 7; //~ unmet 2: write
    APART();
    ready = 1; //~ race 1: write
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, writer, 0);
    if (ready) { //~ race 1: read
        APART();
        USE(value); //~ unmet 2: read
    }
    pthread_join(thread, 0);
    return 0;
}
