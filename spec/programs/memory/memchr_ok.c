// memchr reads up to the byte that it finds, and no further.
#include <pthread.h>
#include <string.h>
#include "../order.h"

char buffer[64] = "find the x, and then no more";
unsigned long size = 64;
int wanted = 'x';

static void *searcher(void *nothing) {
    dh_use(memchr(buffer, wanted, size));
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, searcher, 0);
    dh_step(1);
    buffer[10] = ';';
    pthread_join(thread, 0);
    return 0;
}
