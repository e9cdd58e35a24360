// A semaphore that lets two in excludes nobody of two, though one came behind the other.
//! told by hb: none
//! told by sync-preserving: none
//! told by sync-reversal: none
//! told by shb: none
//! told by lockset: none
//! told by csp: 1
#include <pthread.h>
#include <semaphore.h>

sem_t permits;
int inside;

static void *one(void *nothing) {
    sem_wait(&permits);
    inside = 1; //~ race 1: write
    sem_post(&permits);
    return nothing;
}

static void *two(void *nothing) {
    sem_wait(&permits);
    inside = 2; //~ race 1: write
    sem_post(&permits);
    return nothing;
}

int main(void) {
    pthread_t first, second;
    sem_init(&permits, 0, 2);
    sem_wait(&permits);
    sem_wait(&permits);
    sem_post(&permits);
    sem_post(&permits);
    pthread_create(&first, 0, one, 0);
    pthread_create(&second, 0, two, 0);
    pthread_join(first, 0);
    pthread_join(second, 0);
    return 0;
}
