// Three threads write bytes of one word: two of them the same byte.
#include <pthread.h>
#include "../hunt.h"

char bytes[4];

static void *write_first(void *nothing) {
    bytes[0] = 1;
    return nothing;
}

static void *write_second(void *nothing) {
    bytes[1] = 2; //~ race 1: write
    return nothing;
}

int main(void) {
    pthread_t one, other;
    pthread_create(&one, 0, write_first, 0);
    pthread_create(&other, 0, write_second, 0);
    bytes[1] = 3; //~ race 1: write
    pthread_join(one, 0);
    pthread_join(other, 0);
    return 0;
}
