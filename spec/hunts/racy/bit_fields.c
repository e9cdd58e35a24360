// Two bit-fields in one word are one memory location: setting one rewrites the other.
#include <pthread.h>
#include "../hunt.h"

struct { unsigned left : 3; unsigned right : 3; } flags;

static void *set_left(void *nothing) {
    flags.left = 5; //~ race 1: write
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, set_left, 0);
    flags.right = 3; //~ race 1: write
    pthread_join(thread, 0);
    return 0;
}
