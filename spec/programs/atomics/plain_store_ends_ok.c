// A plain store into an atomic ends its release sequence: who then acquires it learns nothing.
#include <pthread.h>
#include "../order.h"

int flag, value;

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
    dh_use(__atomic_load_n(&flag, __ATOMIC_ACQUIRE));
    dh_use(value);
    pthread_join(thread, 0);
    return 0;
}
