// A thread and its signal's handler find races all the time, in new moments each time: nobody waits for good.
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>

#define TURNS 200000

int first, second;
static atomic_int moments, going = 2;

static void handle(int number) {
    (void)number;
    atomic_fetch_add_explicit(&moments, 1, memory_order_release);
    second = 1;
}

static void *store(void *argument) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, 0);
    atomic_int mine = 0;
    for (int i = 0; i < TURNS || atomic_load_explicit(&going, memory_order_relaxed) > 1; i++) {
        atomic_fetch_add_explicit(&mine, 1, memory_order_release);
        first = 2;
        second = 2;
    }
    return argument;
}

int main(void) {
    struct itimerval often = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};
    pthread_t thread;
    signal(SIGALRM, handle);
    pthread_create(&thread, 0, store, 0);
    setitimer(ITIMER_REAL, &often, 0);
    for (int i = 0; i < TURNS; i++) {
        atomic_fetch_add_explicit(&moments, 1, memory_order_release);
        first = 1;
    }
    setitimer(ITIMER_REAL, &never, 0);
    atomic_store_explicit(&going, 1, memory_order_relaxed);
    pthread_join(thread, 0);
    return 0;
}
