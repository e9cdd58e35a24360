// What a handler that may be interrupted by its own signal releases is seen, wherever it comes.
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include "../order.h"

enum { SIGNALS = 30, WORDS = 512 };

int value;
static long box, words[WORDS];
static atomic_int handled, ends;
static atomic_long other;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void on_signal(int signal) {
    (void)signal;
    box++;
    atomic_store_explicit(&handled, atomic_load_explicit(&handled, memory_order_relaxed) + 1, memory_order_release);
}

static void *worker(void *argument) {
    while (!atomic_load(&ends)) {
        pthread_mutex_lock(&lock);
        for (int i = 0; i < WORDS; i++)
            words[i]++;
        pthread_mutex_unlock(&lock);
        for (int i = 0; i < WORDS / 16; i++)
            atomic_fetch_add(&other, 1);
    }
    value = 1;
    dh_done(1);
    return argument;
}

int main(void) {
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_NODEFER};
    pthread_t thread;
    sigaction(SIGUSR1, &action, 0);
    pthread_create(&thread, 0, worker, 0);
    for (int i = 1; i <= SIGNALS; i++) {
        pthread_kill(thread, SIGUSR1);
        while (atomic_load_explicit(&handled, memory_order_acquire) < i) {}
        dh_use(box);
    }
    atomic_store(&ends, 1);
    dh_step(1);
    pthread_join(thread, 0);
    dh_use(value);
    return 0;
}
