// A thread's stack has no past: only the global races, not the local that lay where another's had.
#include <pthread.h>
#include "../order.h"

int value;

static void __attribute__((noinline)) fill(int *local) {
    *local = 1;
}

static void *first(void *nothing) {
    int local;
    fill(&local);
    value = 1;
    dh_leave(1);
    return nothing;
}

static void *second(void *nothing) {
    int local;
    fill(&local);
    value = 2;
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, first, 0);
    pthread_join(thread, 0);
    dh_gone(1);
    pthread_create(&thread, 0, second, 0);
    pthread_join(thread, 0);
    return 0;
}
