// A plain store into an atomic ends its release sequence: who then acquires it learns nothing.
#include <pthread.h>
#include "../order.h"

int flag, value;

static void *writer(void *nothing) {
    value = 1; //~ race 1: write
    __atomic_store_n(&flag, 1, __ATOMIC_RELEASE);
    flag = 2; //~ race 2: write
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, writer, 0);
    dh_step(1);
    dh_use(__atomic_load_n(&flag, __ATOMIC_ACQUIRE)); //~ race 2: atomic read
    dh_use(value); //~ race 1: read
    pthread_join(thread, 0);
    return 0;
}
