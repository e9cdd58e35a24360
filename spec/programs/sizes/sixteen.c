// An access of sixteen bytes races with one to its last byte.
#include <pthread.h>
#include "../order.h"

typedef long long wide __attribute__((vector_size(16)));

union { wide all; char bytes[16]; } a, b;
wide source;

static void *writer(void *nothing) {
    a.all = source; //~ race 1: write
    b.bytes[15] = 1; //~ race 2: write
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, writer, 0);
    dh_step(1);
    dh_use(a.bytes[15]); //~ race 1: read
    wide copy = b.all; //~ race 2: read
    __asm__ volatile("" : : "x"(copy));
    pthread_join(thread, 0);
    return 0;
}
