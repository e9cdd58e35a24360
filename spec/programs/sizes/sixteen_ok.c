// An access of sixteen bytes races with one to its last byte.
#include <pthread.h>
#include "../order.h"

typedef long long wide __attribute__((vector_size(16)));

union { wide all; char bytes[16]; } a, b;
wide source;

static void *writer(void *nothing) {
    a.all = source;
    b.bytes[15] = 1;
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, writer, 0);
    dh_step(1);
    pthread_join(thread, 0);
    dh_use(a.bytes[15]);
    wide copy = b.all;
    __asm__ volatile("" : : "x"(copy));
    return 0;
}
