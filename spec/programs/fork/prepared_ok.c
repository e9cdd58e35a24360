// Threads fork one after the other, as what they have registered for that takes a mutex and gives it back.
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../order.h"

enum { THREADS = 3, FORKS = 4, STEPS = 100 };

int value;
static long shared;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void before(void) { pthread_mutex_lock(&lock); }

static void after(void) { pthread_mutex_unlock(&lock); }

static void *worker(void *last) {
    for (int round = 0; round < FORKS; round++) {
        for (int i = 0; i < STEPS; i++) {
            pthread_mutex_lock(&lock);
            shared++;
            pthread_mutex_unlock(&lock);
        }
        const pid_t child = fork();
        if (child == 0)
            _exit(0);
        waitpid(child, 0, 0);
    }
    if (last) {
        value = 1;
        dh_done(1);
    }
    return 0;
}

int main(void) {
    pthread_t threads[THREADS];
    pthread_atfork(before, after, after);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], 0, worker, i == THREADS - 1 ? &value : 0);
    dh_step(1);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], 0);
    dh_use(value);
    return 0;
}
