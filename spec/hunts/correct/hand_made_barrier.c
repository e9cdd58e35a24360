// A barrier made of a counter and a round parts the writing of each round from the reading.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include "../hunt.h"

int values[2];
atomic_int arrived, round_number;

static void wait_for_other(void) {
    int mine = atomic_load_explicit(&round_number, memory_order_relaxed);
    if (atomic_fetch_add_explicit(&arrived, 1, memory_order_acq_rel) == 1) {
        atomic_store_explicit(&arrived, 0, memory_order_relaxed);
        atomic_store_explicit(&round_number, mine + 1, memory_order_release);
    } else {
        while (atomic_load_explicit(&round_number, memory_order_acquire) == mine)
            sched_yield();
    }
}

static void *worker(void *argument) {
    int mine = *(const int *)argument;
    for (int i = 0; i < 3; i++) {
        values[mine] = i;
        wait_for_other();
        USE(values[1 - mine]);
        wait_for_other();
    }
    return 0;
}

int main(void) {
    pthread_t thread;
    int numbers[2] = {0, 1};
    pthread_create(&thread, 0, worker, &numbers[0]);
    worker(&numbers[1]);
    pthread_join(thread, 0);
    return 0;
}
