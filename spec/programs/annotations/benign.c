// A race on bytes that the program declared benign is not told.
#include <pthread.h>
#include "../order.h"

void AnnotateBenignRaceSized(const char *file, int line, const volatile void *start, unsigned long size, const char *why);

int hits;

static void *writer(void *nothing) {
    hits = 1; //~ race 1: write
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, writer, 0);
    dh_step(1);
    dh_use(hits); //~ race 1: read
    pthread_join(thread, 0);
    return 0;
}
