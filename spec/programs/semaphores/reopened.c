// What was posted to a named semaphore that is closed is not for who waits for the next one, which may lie at the same address.
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <unistd.h>
#include "../order.h"

int value;
static sem_t *second;

DH_HIDDEN void keep(sem_t *semaphore) {
    second = semaphore;
}

DH_HIDDEN sem_t *kept(void) {
    return second;
}

static void *other(void *nothing) {
    dh_step(0);
    sem_wait(kept());
    value = 2; //~ race 1: write
    return nothing;
}

static sem_t *made(int number, unsigned count) {
    char name[64];
    snprintf(name, sizeof name, "/deadheat-%d-%d", (int)getpid(), number);
    sem_t *semaphore = sem_open(name, O_CREAT | O_EXCL, 0600, count);
    sem_unlink(name);
    return semaphore;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, other, 0);
    sem_t *first = made(1, 0);
    value = 1; //~ race 1: write
    sem_post(first);
    sem_close(first);
    keep(made(2, 1));
    dh_done(0);
    pthread_join(thread, 0);
    sem_close(kept());
    return 0;
}
