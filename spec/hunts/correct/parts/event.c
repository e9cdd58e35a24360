// An event that is set once: a word and the futex system call, not instrumented.
#define _GNU_SOURCE
#include <linux/futex.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

void event_set(void);
void event_wait(void);

static atomic_int word;

void event_set(void) {
    atomic_store_explicit(&word, 1, memory_order_release);
    syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
}

void event_wait(void) {
    while (!atomic_load_explicit(&word, memory_order_acquire))
        syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, 0, 0, 0);
}
