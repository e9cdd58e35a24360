// A whole structure is copied while one of its fields is written.
#include <pthread.h>
#include "../hunt.h"

struct point { long x, y, z; };
struct point shared = {1, 2, 3}, copy;

static void *copier(void *nothing) {
    copy = shared; //~ race 1: read
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, copier, 0);
    shared.y = 4; //~ race 1: write
    pthread_join(thread, 0);
    return 0;
}
