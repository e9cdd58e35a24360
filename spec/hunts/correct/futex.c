// A lock made of one word and the raw futex system call protects a plain counter.
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

int counter;
atomic_int word; // 0: free, 1: held, 2: held, and somebody may sleep

static void lock(void) {
    int seen = 0;
    if (atomic_compare_exchange_strong(&word, &seen, 1))
        return;
    while (atomic_exchange(&word, 2) != 0)
        syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 2, 0, 0, 0);
}

static void unlock(void) {
    if (atomic_exchange(&word, 0) == 2)
        syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
}

static void *worker(void *nothing) {
    for (int i = 0; i < 3; i++) {
        lock();
        counter = counter + 1;
        unlock();
    }
    return nothing;
}

int main(void) {
    pthread_t one, other;
    pthread_create(&one, 0, worker, 0);
    pthread_create(&other, 0, worker, 0);
    pthread_join(one, 0);
    pthread_join(other, 0);
    return counter == 6 ? 0 : 1;
}
