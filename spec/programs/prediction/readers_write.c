// Two who hold a lock for reading write, and one that holds it for writing comes between them.
//! told by hb: none
//! told by sync-preserving: 1
//! told by sync-reversal: 1
//! told by shb: none
//! told by lockset: 1
//! told by csp: 1
#include <pthread.h>

int hits, table;
pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;

static void *one(void *nothing) {
    pthread_rwlock_rdlock(&l);
    hits = 1; //~ race 1: write
    pthread_rwlock_unlock(&l);
    return nothing;
}

static void *two(void *nothing) {
    pthread_rwlock_wrlock(&l);
    table = 1;
    pthread_rwlock_unlock(&l);
    return nothing;
}

static void *three(void *nothing) {
    pthread_rwlock_rdlock(&l);
    hits = 2; //~ race 1: write
    pthread_rwlock_unlock(&l);
    return nothing;
}

int main(void) {
    pthread_t first, second, third;
    pthread_create(&first, 0, one, 0);
    pthread_create(&second, 0, two, 0);
    pthread_create(&third, 0, three, 0);
    pthread_join(first, 0);
    pthread_join(second, 0);
    pthread_join(third, 0);
    return 0;
}
