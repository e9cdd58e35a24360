// A race may have its two sides in two translation units.
//! object: parts/counter_ok.c
#include <pthread.h>
#include "../order.h"

void count(void);
int counted(void);

static void *worker(void *nothing) {
    count();
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, worker, 0);
    dh_step(1);
    dh_use(counted());
    pthread_join(thread, 0);
    return 0;
}
