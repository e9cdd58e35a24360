// A pthread_spin_trylock that found the lock taken has locked nothing.
#include <errno.h>
#include <pthread.h>
#include "../order.h"

int value;
pthread_spinlock_t lock;

static void *writer(void *nothing) {
    pthread_spin_lock(&lock);
    value = 1; //~ race 1: write
    dh_done(1);
    dh_step(2);
    pthread_spin_unlock(&lock);
    dh_done(3);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE);
    pthread_create(&thread, 0, writer, 0);
    dh_step(1);
    int busy = pthread_spin_trylock(&lock);
    dh_use(value); //~ race 1: read
    dh_done(2);
    dh_step(3);
    int locked = pthread_spin_trylock(&lock);
    pthread_spin_unlock(&lock);
    pthread_join(thread, 0);
    return busy == EBUSY && locked == 0 ? 0 : 1;
}
