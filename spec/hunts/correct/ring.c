// A ring between two threads: its slots are plain, its indices acquire and release.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#define SIZE 2

int ring[SIZE];
atomic_uint head, tail;

static void *producer(void *nothing) {
    for (int i = 1; i <= 6; i++) {
        unsigned end = atomic_load_explicit(&tail, memory_order_relaxed);
        while (end - atomic_load_explicit(&head, memory_order_acquire) == SIZE)
            sched_yield();
        ring[end % SIZE] = i;
        atomic_store_explicit(&tail, end + 1, memory_order_release);
    }
    return nothing;
}

int main(void) {
    pthread_t thread;
    int sum = 0;
    pthread_create(&thread, 0, producer, 0);
    for (unsigned start = 0; start < 6; start++) {
        while (atomic_load_explicit(&tail, memory_order_acquire) == start)
            sched_yield();
        sum += ring[start % SIZE];
        atomic_store_explicit(&head, start + 1, memory_order_release);
    }
    pthread_join(thread, 0);
    return sum == 21 ? 0 : 1;
}
