// Mutual exclusion whose fast side has no fence at all: the slow side's membarrier makes one for it.
#define _GNU_SOURCE
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

int counter;
atomic_int fast_inside, slow_wants;

static void *fast(void *nothing) {
    for (int i = 0; i < 5; i++) {
        atomic_store_explicit(&fast_inside, 1, memory_order_relaxed);
        atomic_signal_fence(memory_order_seq_cst);
        if (!atomic_load_explicit(&slow_wants, memory_order_acquire))
            counter = counter + 1;
        atomic_store_explicit(&fast_inside, 0, memory_order_release);
    }
    return nothing;
}

int main(void) {
    pthread_t thread;
    if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0))
        return 0;
    pthread_create(&thread, 0, fast, 0);
    for (int i = 0; i < 3; i++) {
        atomic_store_explicit(&slow_wants, 1, memory_order_relaxed);
        syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
        while (atomic_load_explicit(&fast_inside, memory_order_acquire))
            sched_yield();
        counter = counter + 1;
        atomic_store_explicit(&slow_wants, 0, memory_order_release);
    }
    pthread_join(thread, 0);
    return counter >= 3 ? 0 : 1;
}
