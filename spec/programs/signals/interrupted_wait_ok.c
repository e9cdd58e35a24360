// A handler may run within a thread's waiting call, and the call goes on.
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include "../order.h"

int value;
sem_t semaphore;

static void handler(int number) {
    (void)number;
    value = 1;
    sem_post(&semaphore);
    dh_done(1);
}

static void *worker(void *nothing) {
    while (sem_wait(&semaphore) != 0)
        continue;
    return nothing;
}

int main(void) {
    pthread_t thread;
    struct sigaction action = {.sa_handler = handler};
    sigaction(SIGUSR1, &action, 0);
    sem_init(&semaphore, 0, 0);
    pthread_create(&thread, 0, worker, 0);
    pthread_kill(thread, SIGUSR1);
    dh_step(1);
    pthread_join(thread, 0);
    dh_use(value);
    return 0;
}
