// A thread sees what its creator wrote before it created it, and nothing that came after.
#include <pthread.h>
#include "../order.h"

int value;

static void *reader(void *nothing) {
    dh_step(1);
    dh_use(value); //~ race 1: read
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, reader, 0);
    value = 1; //~ race 1: write
    dh_done(1);
    pthread_join(thread, 0);
    return 0;
}
