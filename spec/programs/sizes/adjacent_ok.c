// Neighbouring bytes of one word do not race.
#include <pthread.h>
#include "../order.h"

char bytes[8];

static void *writer(void *nothing) {
    bytes[3] = 1;
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, writer, 0);
    dh_step(1);
    bytes[2] = 1;
    bytes[4] = 1;
    pthread_join(thread, 0);
    return 0;
}
