// A spinlock orders what its holders do.
#include <pthread.h>
#include "../order.h"

int value;
pthread_spinlock_t lock;

static void *writer(void *nothing) {
    pthread_spin_lock(&lock);
    value = 1;
    pthread_spin_unlock(&lock);
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE);
    pthread_create(&thread, 0, writer, 0);
    dh_step(1);
    pthread_spin_lock(&lock);
    dh_use(value);
    pthread_spin_unlock(&lock);
    pthread_join(thread, 0);
    pthread_spin_destroy(&lock);
    return 0;
}
