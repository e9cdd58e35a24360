// mtx_trylock and mtx_timedlock lock only when they say thrd_success.
#include <threads.h>
#include "../order.h"

int value;
mtx_t mutex;
struct timespec long_ago = {0, 0}, far_off = {1L << 40, 0};

static int writer(void *nothing) {
    (void)nothing;
    mtx_lock(&mutex);
    value = 1;
    dh_done(1);
    dh_step(2);
    mtx_unlock(&mutex);
    dh_done(3);
    return 0;
}

int main(void) {
    thrd_t thread;
    mtx_init(&mutex, mtx_timed);
    thrd_create(&thread, writer, 0);
    dh_step(1);
    int busy = mtx_trylock(&mutex);
    int late = mtx_timedlock(&mutex, &long_ago);
    dh_done(2);
    dh_step(3);
    int locked = mtx_timedlock(&mutex, &far_off);
    dh_use(value);
    mtx_unlock(&mutex);
    thrd_join(thread, 0);
    return busy == thrd_busy && late == thrd_timedout && locked == thrd_success ? 0 : 1;
}
