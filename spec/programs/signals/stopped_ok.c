// Threads that a signal stops wherever they are hold nobody up, and know what was done while they stood.
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include "../order.h"

enum { THREADS = 2, STOPS = 40, VALUES = 64 };

int value;
static long values[VALUES];
static atomic_int stops, stands, ends, count;
static sem_t stopped;
static sigset_t others;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void on_stop(int signal) {
    const int before = errno;
    (void)signal;
    sem_post(&stopped);
    while (atomic_load(&stands))
        sigsuspend(&others);
    sem_post(&stopped);
    errno = before;
}

static void on_go(int signal) { (void)signal; }

static void *worker(void *last) {
    while (!atomic_load_explicit(&ends, memory_order_relaxed)) {
        for (int i = 0; i < VALUES; i++)
            dh_use(values[i]);
        pthread_mutex_lock(&lock);
        atomic_fetch_add(&count, 1);
        pthread_mutex_unlock(&lock);
    }
    if (last) {
        value = 1;
        dh_done(1);
    }
    return 0;
}

int main(void) {
    struct sigaction stop = {.sa_handler = on_stop}, go = {.sa_handler = on_go};
    pthread_t threads[THREADS];
    sem_init(&stopped, 0, 0);
    sigfillset(&stop.sa_mask);
    sigfillset(&go.sa_mask);
    sigfillset(&others);
    sigdelset(&others, SIGUSR2);
    sigaction(SIGUSR1, &stop, 0);
    sigaction(SIGUSR2, &go, 0);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], 0, worker, i == THREADS - 1 ? &value : 0);
    for (int round = 0; round < STOPS; round++) {
        atomic_store(&stands, 1);
        for (int i = 0; i < THREADS; i++)
            pthread_kill(threads[i], SIGUSR1);
        for (int i = 0; i < THREADS; i++)
            sem_wait(&stopped);
        atomic_fetch_add(&count, 1);
        for (int i = 0; i < VALUES; i++)
            values[i] += i;
        atomic_store(&stands, 0);
        for (int i = 0; i < THREADS; i++)
            pthread_kill(threads[i], SIGUSR2);
        for (int i = 0; i < THREADS; i++)
            sem_wait(&stopped);
        for (volatile int turn = 0; turn < 1000 + 500 * round; turn++) {}
    }
    atomic_store(&ends, 1);
    dh_step(1);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], 0);
    dh_use(value);
    return 0;
}
