// A race on an element of a global array is told with the array's name and the element's offset.
//! location 1: global numbers+12
#include <pthread.h>
#include "../order.h"

int numbers[8];

static void *writer(void *nothing) {
    numbers[3] = 1;
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, writer, 0);
    dh_step(1);
    pthread_join(thread, 0);
    dh_use(numbers[3]);
    return 0;
}
