// An atomic store races with a plain load that nothing orders.
#include <pthread.h>
#include "../order.h"

int value;

static void *writer(void *nothing) {
    __atomic_store_n(&value, 1, __ATOMIC_SEQ_CST);
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, writer, 0);
    dh_step(1);
    dh_use(__atomic_load_n(&value, __ATOMIC_RELAXED));
    pthread_join(thread, 0);
    return 0;
}
