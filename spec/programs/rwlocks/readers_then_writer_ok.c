// A writer that takes the lock comes after every reader that gave back its side of it.
#include <pthread.h>
#include "../order.h"

int value;
pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

static void *careful(void *nothing) {
    pthread_rwlock_rdlock(&lock);
    dh_use(value);
    pthread_rwlock_unlock(&lock);
    dh_done(1);
    return nothing;
}

static void *careless(void *nothing) {
    dh_step(1);
    pthread_rwlock_rdlock(&lock);
    dh_use(value);
    pthread_rwlock_unlock(&lock);
    dh_done(2);
    return nothing;
}

int main(void) {
    pthread_t one, other;
    pthread_create(&one, 0, careful, 0);
    pthread_create(&other, 0, careless, 0);
    dh_step(2);
    pthread_rwlock_wrlock(&lock);
    value = 1;
    pthread_rwlock_unlock(&lock);
    pthread_join(one, 0);
    pthread_join(other, 0);
    return 0;
}
