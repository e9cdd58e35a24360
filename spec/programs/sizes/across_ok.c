// Of words read at one odd address after the other, all over the border of two aligned ones, each byte is remembered.
#include <pthread.h>
#include "../order.h"

struct __attribute__((packed)) word { int value; };

char bytes[16] __attribute__((aligned(16)));

static void *reader(void *nothing) {
    for (int at = 5; at < 8; at++) {
        dh_use(((struct word *)(bytes + at))->value);
    }
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, reader, 0);
    dh_step(1);
    bytes[4] = 1;
    bytes[11] = 1;
    pthread_join(thread, 0);
    bytes[10] = 1;
    return 0;
}
