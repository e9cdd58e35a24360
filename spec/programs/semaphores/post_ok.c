// A post passes on what came before it to the wait that it lets through.
#include <pthread.h>
#include <semaphore.h>
#include "../order.h"

int value;
sem_t semaphore;

static void *writer(void *nothing) {
    value = 1;
    sem_post(&semaphore);
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    sem_init(&semaphore, 0, 0);
    pthread_create(&thread, 0, writer, 0);
    sem_wait(&semaphore);
    dh_step(1);
    dh_use(value);
    pthread_join(thread, 0);
    sem_destroy(&semaphore);
    return 0;
}
