// A buffer is filled by memcpy while one of its elements is written; the source is nobody else's.
#include <pthread.h>
#include <string.h>
#include "../hunt.h"

int source[16] = {1, 2, 3}, target[16];

static void *filler(void *size) {
    memcpy(target, source, *(unsigned long *)size); //~ race 1: write
    return 0;
}

int main(void) {
    pthread_t thread;
    unsigned long size = 8 * sizeof(int);
    pthread_create(&thread, 0, filler, &size);
    target[5] = 9; //~ race 1: write
    pthread_join(thread, 0);
    return 0;
}
