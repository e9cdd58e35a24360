// A detached thread says when it is done; who writes before it has heard that races with it.
#include <pthread.h>
#include <semaphore.h>
#include "../hunt.h"

int result;
sem_t done;

static void *worker(void *nothing) {
    result = 1;
    sem_post(&done);
    return nothing;
}

int main(void) {
    pthread_t thread;
    sem_init(&done, 0, 0);
    pthread_create(&thread, 0, worker, 0);
    pthread_detach(thread);
    sem_wait(&done);
    result = 2;
    return 0;
}
