// A sequence lock whose data are relaxed atomics, ordered by fences: what was torn is read again.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

atomic_uint sequence;
atomic_int left, right;

static void *writer(void *nothing) {
    for (int i = 1; i <= 3; i++) {
        unsigned before = atomic_load_explicit(&sequence, memory_order_relaxed);
        atomic_store_explicit(&sequence, before + 1, memory_order_relaxed);
        atomic_thread_fence(memory_order_release);
        atomic_store_explicit(&left, i, memory_order_relaxed);
        atomic_store_explicit(&right, -i, memory_order_relaxed);
        atomic_store_explicit(&sequence, before + 2, memory_order_release);
    }
    return nothing;
}

static int read_sum(void) {
    for (;;) {
        unsigned before = atomic_load_explicit(&sequence, memory_order_acquire);
        int one = atomic_load_explicit(&left, memory_order_relaxed);
        int other = atomic_load_explicit(&right, memory_order_relaxed);
        atomic_thread_fence(memory_order_acquire);
        if (before % 2 == 0 && before == atomic_load_explicit(&sequence, memory_order_relaxed))
            return one + other;
        sched_yield();
    }
}

int main(void) {
    pthread_t thread;
    int sum = 0;
    pthread_create(&thread, 0, writer, 0);
    for (int i = 0; i < 3; i++)
        sum |= read_sum();
    pthread_join(thread, 0);
    return sum;
}
