// Each part of a word that a thread writes before it synchronises again races by itself.
#include <pthread.h>
#include "../order.h"

struct {
    short one, other;
    int rest;
} parts __attribute__((aligned(8)));

static void *writer(void *nothing) {
    parts.one = 1; //~ race 1: write
    __asm__ volatile("" : : : "memory");
    parts.other = 2; //~ race 2: write
    __asm__ volatile("" : : : "memory");
    *(volatile long *)&parts = 3; //~ race 3: write
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, writer, 0);
    dh_step(1);
    long all = *(volatile long *)&parts; //~ race 1: read, race 2: read, race 3: read
    dh_use(all);
    pthread_join(thread, 0);
    return 0;
}
