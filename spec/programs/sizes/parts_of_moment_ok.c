// Each part of a word that a thread writes before it synchronises again races by itself.
#include <pthread.h>
#include "../order.h"

struct {
    short one, other;
    int rest;
} parts __attribute__((aligned(8)));

static void *writer(void *nothing) {
    parts.one = 1;
    __asm__ volatile("" : : : "memory");
    parts.other = 2;
    __asm__ volatile("" : : : "memory");
    *(volatile long *)&parts = 3;
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, writer, 0);
    pthread_join(thread, 0);
    long all = *(volatile long *)&parts;
    dh_use(all);
    return 0;
}
