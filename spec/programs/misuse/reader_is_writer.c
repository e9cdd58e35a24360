// Who holds a read-write lock for writing cannot take it for reading, too.
#include <pthread.h>

pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;

int main(void) {
    pthread_rwlock_wrlock(&rwlock);
    pthread_rwlock_rdlock(&rwlock); //~ finding 1: read-lock-of-written
    pthread_rwlock_unlock(&rwlock);
    return 0;
}
