// One side counts atomically, the other reads as if nobody else were there.
#include <pthread.h>
#include "../hunt.h"

int counter;

static void *count(void *nothing) {
    for (int i = 0; i < 3; i++)
        __atomic_fetch_add(&counter, 1, __ATOMIC_RELAXED);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, count, 0);
    USE(__atomic_load_n(&counter, __ATOMIC_RELAXED));
    pthread_join(thread, 0);
    return 0;
}
