// A lock taken by compare-exchange and given back by a store protects a plain counter.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

int counter;
atomic_int owner;

static void *worker(void *argument) {
    int mine = *(const int *)argument;
    for (int i = 0; i < 3; i++) {
        int nobody = 0;
        while (!atomic_compare_exchange_weak_explicit(&owner, &nobody, mine, memory_order_acquire,
                                                      memory_order_relaxed)) {
            nobody = 0;
            sched_yield();
        }
        counter = counter + 1;
        atomic_store_explicit(&owner, 0, memory_order_release);
    }
    return 0;
}

int main(void) {
    pthread_t one, other;
    int numbers[2] = {1, 2};
    pthread_create(&one, 0, worker, &numbers[0]);
    pthread_create(&other, 0, worker, &numbers[1]);
    pthread_join(one, 0);
    pthread_join(other, 0);
    return counter == 6 ? 0 : 1;
}
