// A signal's handler and what it interrupts change one atomic: nothing races, and nobody waits for good.
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>

#define TURNS 5000000

static atomic_long count, handled;

static void handle(int number) {
    (void)number;
    atomic_fetch_add_explicit(&count, 1, memory_order_acq_rel);
    atomic_fetch_add_explicit(&handled, 1, memory_order_relaxed);
}

static void *work(void *argument) {
    for (long i = 0; i < TURNS; i++)
        atomic_fetch_add_explicit(&count, 1, memory_order_acq_rel);
    return argument;
}

int main(void) {
    struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
    pthread_t thread;
    signal(SIGALRM, handle);
    setitimer(ITIMER_REAL, &often, 0);
    pthread_create(&thread, 0, work, 0);
    work(0);
    pthread_join(thread, 0);
    setitimer(ITIMER_REAL, &never, 0);
    return atomic_load(&count) - atomic_load(&handled) != 2 * TURNS;
}
