// An atomic of sixteen bytes synchronises as the others do.
//! flags: -mcx16 -latomic
#include <pthread.h>
#include "../order.h"

int value;
_Alignas(16) __int128 flag;

static void *writer(void *nothing) {
    value = 1;
    __atomic_store_n(&flag, 1, __ATOMIC_RELEASE);
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, writer, 0);
    dh_step(1);
    if (__atomic_load_n(&flag, __ATOMIC_ACQUIRE) == 1)
        dh_use(value);
    pthread_join(thread, 0);
    return 0;
}
