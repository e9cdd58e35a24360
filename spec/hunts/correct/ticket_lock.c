// A ticket lock of two atomic numbers protects a plain counter.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

int counter;
atomic_uint next_ticket, served;

static void lock(void) {
    unsigned mine = atomic_fetch_add_explicit(&next_ticket, 1, memory_order_relaxed);
    while (atomic_load_explicit(&served, memory_order_acquire) != mine)
        sched_yield();
}

static void unlock(void) {
    unsigned mine = atomic_load_explicit(&served, memory_order_relaxed);
    atomic_store_explicit(&served, mine + 1, memory_order_release);
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
