// Counters that are only ever touched by relaxed atomic operations do not race, unordered as they are.
#include <pthread.h>
#include <stdatomic.h>
#include "../hunt.h"

atomic_int hits, latest, largest;

static void *count(void *argument) {
    int number = *(const int *)argument;
    for (int i = 0; i < 3; i++) {
        atomic_fetch_add_explicit(&hits, 1, memory_order_relaxed);
        atomic_store_explicit(&latest, number, memory_order_relaxed);
        int seen = atomic_load_explicit(&largest, memory_order_relaxed);
        while (seen < number && !atomic_compare_exchange_weak_explicit(
                   &largest, &seen, number, memory_order_relaxed, memory_order_relaxed))
            continue;
    }
    return 0;
}

int main(void) {
    pthread_t one, other;
    const int numbers[2] = {3, 5};
    pthread_create(&one, 0, count, (void *)&numbers[0]);
    pthread_create(&other, 0, count, (void *)&numbers[1]);
    USE(atomic_load_explicit(&hits, memory_order_relaxed));
    pthread_join(one, 0);
    pthread_join(other, 0);
    return hits == 6 && largest == 5 ? 0 : 1;
}
