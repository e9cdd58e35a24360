// A thread that is cancelled asynchronously has told of each store that others saw.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>
#include "../order.h"

enum { ROUNDS = 50, STORES = 5000 };

int values[STORES + 1];
atomic_int last;

static void *writer(void *nothing) {
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, 0);
    for (int i = 1; i <= STORES; i++) {
        values[i] = i;
        atomic_store_explicit(&last, i, memory_order_release);
    }
    for (;;)
        pause();
    return nothing;
}

int main(void) {
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t thread;
        atomic_store(&last, 0);
        pthread_create(&thread, 0, writer, 0);
        while (atomic_load_explicit(&last, memory_order_acquire) <= round % 8)
            sched_yield();
        pthread_cancel(thread);
        dh_use(values[atomic_load_explicit(&last, memory_order_acquire)]);
        pthread_join(thread, 0);
    }
    return 0;
}
