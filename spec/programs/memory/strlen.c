// strlen reads up to the zero, and the zero itself.
#include <pthread.h>
#include <string.h>
#include "../order.h"

char text[32] = "four";

static void *measurer(void *nothing) {
    dh_use(strlen(text)); //~ race 1: read
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, measurer, 0);
    dh_step(1);
    text[4] = 's'; //~ race 1: write
    pthread_join(thread, 0);
    return 0;
}
