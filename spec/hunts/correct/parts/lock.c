// A lock of one atomic word, not instrumented.
#include <sched.h>
#include <stdatomic.h>

void library_lock(void);
void library_unlock(void);

static atomic_flag taken = ATOMIC_FLAG_INIT;

void library_lock(void) {
    while (atomic_flag_test_and_set_explicit(&taken, memory_order_acquire))
        sched_yield();
}

void library_unlock(void) {
    atomic_flag_clear_explicit(&taken, memory_order_release);
}
