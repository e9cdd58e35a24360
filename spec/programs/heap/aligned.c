// posix_memalign, aligned_alloc and memalign make heap blocks like malloc.
//! location 1: heap
//! location 2: heap
//! location 3: heap
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include "../order.h"

int *one, *two, *three;

static void *writer(void *nothing) {
    *one = 1; //~ race 1: write
    *two = 2; //~ race 2: write
    *three = 3; //~ race 3: write
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    if (posix_memalign((void **)&one, 64, 64) != 0)
        return 1;
    two = aligned_alloc(128, 128);
    three = memalign(256, 256);
    pthread_create(&thread, 0, writer, 0);
    dh_step(1);
    dh_use(*one); //~ race 1: read
    dh_use(*two); //~ race 2: read
    dh_use(*three); //~ race 3: read
    pthread_join(thread, 0);
    free(one);
    free(two);
    free(three);
    return 0;
}
