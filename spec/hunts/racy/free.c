// A block is given back while another thread still reads it; such a read finds mapped memory all the same.
#include <pthread.h>
#include <stdlib.h>
#include "../hunt.h"

static void *reader(void *block) {
    USE(((int *)block)[5]); //~ race 1: read
    return 0;
}

int main(void) {
    pthread_t thread;
    int *block = malloc(10 * sizeof *block);
    if (!block)
        return 1;
    block[5] = 1;
    pthread_create(&thread, 0, reader, block);
    free(block); //~ race 1: free
    pthread_join(thread, 0);
    return 0;
}
