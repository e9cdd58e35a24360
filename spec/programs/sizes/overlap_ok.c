// Accesses of different sizes race in the bytes that they share.
#include <pthread.h>
#include <stdint.h>
#include "../order.h"

union { uint8_t one[8]; uint16_t two[4]; uint32_t four[2]; uint64_t eight; } a, b, c, d;

static void *writer(void *nothing) {
    a.eight = 1;
    b.four[1] = 1;
    c.two[3] = 1;
    d.one[7] = 1;
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, writer, 0);
    dh_step(1);
    pthread_join(thread, 0);
    dh_use(a.one[7]);
    dh_use(b.two[3]);
    dh_use(c.four[1]);
    dh_use(d.eight);
    return 0;
}
