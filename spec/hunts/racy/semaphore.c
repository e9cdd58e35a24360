// A semaphore that was meant as a lock begins at two, and lets both in.
#include <pthread.h>
#include <semaphore.h>
#include "../hunt.h"

int counter;
sem_t entry;

WHOLE static int next(int number) {
    return number + 1;
}

static void *worker(void *nothing) {
    sem_wait(&entry);
    counter = next(counter); //~ race 1: read, race 1: write, race 2: write, race 2: write
    sem_post(&entry);
    return nothing;
}

int main(void) {
    pthread_t one, other;
    sem_init(&entry, 0, 2);
    pthread_create(&one, 0, worker, 0);
    pthread_create(&other, 0, worker, 0);
    pthread_join(one, 0);
    pthread_join(other, 0);
    sem_destroy(&entry);
    return 0;
}
