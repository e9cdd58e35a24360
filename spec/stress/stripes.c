// Two threads change an atomic each, and the handlers that interrupt them change the other's: nothing races, and nobody waits for
// good, though each handler may come while its thread holds what the other's wants.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#define TURNS 20000000

// Far from each other: neighbours are guarded together.
static struct {
    _Alignas(256) atomic_long count;
} counts[2];
static atomic_long handled[2];
static _Thread_local volatile int self = 2;

static void handle(int number) {
    (void)number;
    if (self < 2) {
        atomic_fetch_add_explicit(&counts[1 - self].count, 1, memory_order_acq_rel);
        atomic_fetch_add_explicit(&handled[1 - self], 1, memory_order_relaxed);
    }
}

static void *work(void *argument) {
    struct sigevent mine = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1};
    struct itimerspec often = {{0, 1000000}, {0, 1000000}};
    timer_t timer;
    mine._sigev_un._tid = gettid();
    timer_create(CLOCK_MONOTONIC, &mine, &timer);
    self = (long)argument;
    timer_settime(timer, 0, &often, 0);
    for (long i = 0; i < TURNS; i++)
        atomic_fetch_add_explicit(&counts[self].count, 1, memory_order_acq_rel);
    timer_delete(timer);
    self = 2;
    return NULL;
}

int main(void) {
    pthread_t threads[2];
    signal(SIGUSR1, handle);
    for (long i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, work, (void *)i);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    for (int i = 0; i < 2; i++)
        if (atomic_load(&counts[i].count) - atomic_load(&handled[i]) != TURNS)
            return 1;
    return 0;
}
