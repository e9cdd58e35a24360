// The write side orders writers; the read side does not.
#include <pthread.h>
#include "../order.h"

int value;
pthread_rwlock_t lock;

static void write_value(int now) {
    pthread_rwlock_rdlock(&lock);
    value = now; //~ race 1: write, race 1: write
    pthread_rwlock_unlock(&lock);
}

static void *writer(void *nothing) {
    write_value(1);
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_rwlock_init(&lock, 0);
    pthread_create(&thread, 0, writer, 0);
    dh_step(1);
    write_value(2);
    pthread_join(thread, 0);
    pthread_rwlock_destroy(&lock);
    return 0;
}
