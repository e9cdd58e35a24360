// A thread that ends by pthread_exit runs its cleanup handlers, and who joins it sees their writes.
#include <pthread.h>
#include "../order.h"

int value;

static void clean_up(void *nothing) {
    (void)nothing;
    value = 1; //~ race 1: write
    dh_done(1);
}

static void *leaver(void *nothing) {
    pthread_cleanup_push(clean_up, nothing);
    pthread_exit(nothing);
    pthread_cleanup_pop(0);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, leaver, 0);
    dh_step(1);
    dh_use(value); //~ race 1: read
    pthread_join(thread, 0);
    return 0;
}
