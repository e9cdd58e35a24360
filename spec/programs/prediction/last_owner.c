// The last of two owners frees what both have used: the count orders them.
//! told by hb: none
//! told by sync-preserving: none
//! told by sync-reversal: none
//! told by shb: none
//! told by lockset: none
//! told by csp: none
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct shared {
    _Atomic int owners;
    int value;
};

static void *one(void *argument) {
    struct shared *shared = argument;
    shared->value = 1;
    if (atomic_fetch_sub(&shared->owners, 1) == 1) free(shared);
    return 0;
}

static void *two(void *argument) {
    struct shared *shared = argument;
    if (atomic_fetch_sub(&shared->owners, 1) == 1) free(shared);
    return 0;
}

int main(void) {
    pthread_t first, second;
    struct shared *shared = malloc(sizeof *shared);
    shared->owners = 2;
    pthread_create(&first, 0, one, shared);
    pthread_create(&second, 0, two, shared);
    pthread_join(first, 0);
    pthread_join(second, 0);
    return 0;
}
