// A read-write lock that is held for writing is given back by its writer.
#include <pthread.h>
#include "../order.h"

pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;

static void *stranger(void *nothing) {
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_rwlock_wrlock(&rwlock);
    pthread_create(&thread, 0, stranger, 0);
    pthread_join(thread, 0);
    pthread_rwlock_unlock(&rwlock);
    return 0;
}
