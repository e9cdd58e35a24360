// The old __sync builtins order: a lock made of them, and a full barrier between two flags.
#include <pthread.h>
#include "../order.h"

int lock, value;

static void *writer(void *nothing) {
    while (__sync_lock_test_and_set(&lock, 1))
        continue;
    __sync_lock_release(&lock);
    value = 1; //~ race 1: write
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, writer, 0);
    dh_step(1);
    while (!__sync_bool_compare_and_swap(&lock, 0, 1))
        continue;
    dh_use(value); //~ race 1: read
    __sync_lock_release(&lock);
    pthread_join(thread, 0);
    return 0;
}
