// Accesses of different sizes race in the bytes that they share.
#include <pthread.h>
#include <stdint.h>
#include "../order.h"

union { uint8_t one[8]; uint16_t two[4]; uint32_t four[2]; uint64_t eight; } a, b, c, d;

static void *writer(void *nothing) {
    a.eight = 1; //~ race 1: write
    b.four[1] = 1; //~ race 2: write
    c.two[3] = 1; //~ race 3: write
    d.one[7] = 1; //~ race 4: write
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, writer, 0);
    dh_step(1);
    dh_use(a.one[7]); //~ race 1: read
    dh_use(b.two[3]); //~ race 2: read
    dh_use(c.four[1]); //~ race 3: read
    dh_use(d.eight); //~ race 4: read
    pthread_join(thread, 0);
    return 0;
}
