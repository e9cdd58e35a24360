// C11's mtx_t orders as a pthread mutex does.
#include <threads.h>
#include "../order.h"

int value;
mtx_t mutex;

static int writer(void *nothing) {
    (void)nothing;
    mtx_lock(&mutex);
    mtx_unlock(&mutex);
    value = 1; //~ race 1: write
    dh_done(1);
    return 0;
}

int main(void) {
    thrd_t thread;
    mtx_init(&mutex, mtx_plain);
    thrd_create(&thread, writer, 0);
    dh_step(1);
    mtx_lock(&mutex);
    dh_use(value); //~ race 1: read
    mtx_unlock(&mutex);
    thrd_join(thread, 0);
    mtx_destroy(&mutex);
    return 0;
}
