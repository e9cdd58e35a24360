// A deep recursion is told as deep as it was.
#include <pthread.h>
#include "../order.h"

int value;

static __attribute__((noinline)) int descend(int depth) {
    if (depth == 0) {
        value = 1;
        return 0;
    }
    int below = descend(depth - 1);
    dh_use(below);
    return below + depth;
}

static void *writer(void *nothing) {
    dh_use(descend(3));
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, writer, 0);
    dh_step(1);
    pthread_join(thread, 0);
    value = 2;
    return 0;
}
