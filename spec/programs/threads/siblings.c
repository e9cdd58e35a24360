// Two threads of one creator are ordered only if the first is joined before the second is created.
#include <pthread.h>
#include "../order.h"

int value;

static void *writer(void *nothing) {
    value = 1; //~ race 1: write
    dh_done(1);
    return nothing;
}

static void *reader(void *nothing) {
    dh_step(1);
    dh_use(value); //~ race 1: read
    return nothing;
}

int main(void) {
    pthread_t first, second;
    pthread_create(&first, 0, writer, 0);
    pthread_create(&second, 0, reader, 0);
    pthread_join(first, 0);
    pthread_join(second, 0);
    return 0;
}
