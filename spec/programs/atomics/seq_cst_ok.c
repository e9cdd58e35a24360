// A seq_cst store publishes what came before it, and nothing of what comes after.
#include <pthread.h>
#include <stdatomic.h>
#include "../order.h"

int value;
atomic_int flag;

static void *writer(void *nothing) {
    value = 1;
    flag = 1;
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, writer, 0);
    dh_step(1);
    if (flag)
        dh_use(value);
    pthread_join(thread, 0);
    return 0;
}
