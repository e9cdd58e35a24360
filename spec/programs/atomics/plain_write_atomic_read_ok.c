// A plain store races with an atomic load, and with the write of a read-modify-write.
#include <pthread.h>
#include "../order.h"

int one, other;

static void *writer(void *nothing) {
    __atomic_store_n(&one, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&other, 1, __ATOMIC_RELAXED);
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, writer, 0);
    dh_step(1);
    dh_use(__atomic_load_n(&one, __ATOMIC_SEQ_CST));
    __atomic_fetch_add(&other, 1, __ATOMIC_SEQ_CST);
    pthread_join(thread, 0);
    return 0;
}
