// A thread sees what its creator wrote before it created it, and nothing that came after.
#include <pthread.h>
#include "../order.h"

int value;

static void *reader(void *nothing) {
    dh_step(1);
    dh_use(value);
    return nothing;
}

int main(void) {
    pthread_t thread;
    value = 1;
    pthread_create(&thread, 0, reader, 0);
    dh_done(1);
    pthread_join(thread, 0);
    return 0;
}
