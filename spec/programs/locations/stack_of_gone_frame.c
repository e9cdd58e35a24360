// What a frame that is gone did to the same bytes of the stack names no variable of the frame that is there now.
//! location 1: stack ?
#include <pthread.h>
#include "../order.h"

static void *first(void *argument) {
    int *theirs = argument;
    *theirs = 1; //~ race 1: write
    dh_done(1);
    return 0;
}

static void *second(void *argument) {
    int *theirs = argument;
    dh_step(1);
    *theirs = 2; //~ race 1: write
    return 0;
}

static __attribute__((noinline, noclone)) int earlier(int value) {
    int mine[64];
    for (int i = 0; i < 64; i++)
        mine[i] = value;
    __asm__ volatile("" : : "r"(mine) : "memory");
    return mine[value];
}

static __attribute__((noinline, noclone)) void run(void) {
    int untouched[64];
    static pthread_t threads[2];
    pthread_create(&threads[0], 0, first, &untouched[32]);
    pthread_create(&threads[1], 0, second, &untouched[32]);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
}

int main(int count, char **arguments) {
    (void)arguments;
    dh_use(earlier(count));
    run();
    return 0;
}
