// memcmp reads both of its blocks, also behind their first difference.
#include <pthread.h>
#include <string.h>
#include "../order.h"

char one[64] = {1}, other[64];
unsigned long size = 32;

static void *comparer(void *nothing) {
    dh_use(memcmp(one, other, size));
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, comparer, 0);
    dh_step(1);
    pthread_join(thread, 0);
    one[31] = 1;
    other[0] = 2;
    return 0;
}
