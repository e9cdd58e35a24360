// C11's cnd_t orders by its mtx_t.
#include <threads.h>
#include "../order.h"

int value, ready;
mtx_t mutex;
cnd_t condition;
struct timespec long_ago = {0, 0}, far_off = {1L << 40, 0};

static int waker(void *nothing) {
    (void)nothing;
    mtx_lock(&mutex);
    ready = 1;
    cnd_signal(&condition);
    cnd_broadcast(&condition);
    mtx_unlock(&mutex);
    value = 1; //~ race 1: write
    dh_done(1);
    return 0;
}

int main(void) {
    thrd_t thread;
    mtx_init(&mutex, mtx_plain);
    cnd_init(&condition);
    mtx_lock(&mutex);
    int late = cnd_timedwait(&condition, &mutex, &long_ago);
    thrd_create(&thread, waker, 0);
    while (!ready)
        cnd_wait(&condition, &mutex);
    dh_step(1);
    dh_use(value); //~ race 1: read
    mtx_unlock(&mutex);
    thrd_join(thread, 0);
    return late == thrd_timedout ? 0 : 1;
}
