// Only the deepest call of a recursion writes what another thread reads.
#include <pthread.h>
#include "../hunt.h"

int levels[5];

WHOLE static void descend(int level) {
    if (level > 0)
        descend(level - 1);
    APART();
    levels[level] = 1; //~ race 1: write
    APART();
}

static void *worker(void *nothing) {
    descend(3);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, worker, 0);
    USE(levels[0]); //~ race 1: read
    pthread_join(thread, 0);
    return 0;
}
