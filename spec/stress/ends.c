// Threads end while signals come: a handler that runs at a thread's very end finds nothing of it gone.
//
// ROUNDS threads, one after the other, each with its creator's signals from its begin until it is gone. What the handler
// reads, some other threads have read before.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

enum { READERS = 8 };

static volatile int quiet = 1;
static pthread_mutex_t stay = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t read_once;
static int seen[64];
static _Atomic int ended;

static void handler(int signal) {
    (void)signal;
    // Reads what many threads read, and writes nothing.
    int sum = quiet;
    for (unsigned i = 0; i < 64; i++) sum += seen[i];
    if (sum != 1) abort();
}

static void *reader(void *nothing) {
    handler(0);
    pthread_barrier_wait(&read_once);
    pthread_mutex_lock(&stay);
    pthread_mutex_unlock(&stay);
    return nothing;
}

static void *end(void *nothing) {
    ended = 1;
    return nothing;
}

int main(int argc, char **argv) {
    const int rounds = argc > 1 ? atoi(argv[1]) : 1000;
    struct sigaction action = {0};
    action.sa_handler = handler;
    sigaction(SIGUSR1, &action, 0);
    pthread_t readers[READERS];
    pthread_barrier_init(&read_once, 0, READERS + 1);
    pthread_mutex_lock(&stay);
    for (int i = 0; i < READERS; i++) {
        if (pthread_create(&readers[i], 0, reader, 0)) return 1;
    }
    pthread_barrier_wait(&read_once);
    for (int round = 0; round < rounds; round++) {
        pthread_t thread;
        ended = 0;
        if (pthread_create(&thread, 0, end, 0)) return 1;
        // A thread that is gone, and not joined yet, takes no signal and does no harm.
        for (int after = 0; after < 400; after += ended) {
            if (pthread_kill(thread, SIGUSR1)) break;
        }
        pthread_join(thread, 0);
    }
    pthread_mutex_unlock(&stay);
    for (int i = 0; i < READERS; i++) pthread_join(readers[i], 0);
    return 0;
}
