// Holders of the read side are not ordered among each other: one that writes races.
#include <pthread.h>
#include "../order.h"

int value;
pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

static void *writer(void *nothing) {
    pthread_rwlock_rdlock(&lock);
    value = 1; //~ race 1: write
    pthread_rwlock_unlock(&lock);
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, writer, 0);
    dh_step(1);
    pthread_rwlock_rdlock(&lock);
    dh_use(value); //~ race 1: read
    pthread_rwlock_unlock(&lock);
    pthread_join(thread, 0);
    return 0;
}
