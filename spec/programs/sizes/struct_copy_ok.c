// To assign a structure is to read all of one and to write all of the other.
#include <pthread.h>
#include "../order.h"

struct record { int numbers[40]; } from, to;

static void *copier(void *nothing) {
    to = from;
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, copier, 0);
    dh_step(1);
    pthread_join(thread, 0);
    from.numbers[39] = 1;
    dh_use(to.numbers[0]);
    return 0;
}
