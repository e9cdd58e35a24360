// What __tsan_release announced at an atomic's address is seen by an acquire load there, until a release store ends it.
#include <pthread.h>
#include "../order.h"

void __tsan_acquire(void *object);
void __tsan_release(void *object);

int value, other;
long state, ended;

static void *writer(void *nothing) {
    __tsan_release(&state);
    value = 1; //~ race 1: write
    __atomic_store_n(&state, 1, __ATOMIC_RELAXED);
    other = 1; //~ race 2: write
    __tsan_release(&ended);
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, writer, 0);
    dh_step(1);
    __atomic_store_n(&ended, 1, __ATOMIC_RELEASE);
    int seen = __atomic_load_n(&ended, __ATOMIC_ACQUIRE) == 1;
    dh_use(other); //~ race 2: read
    seen += __atomic_load_n(&state, __ATOMIC_ACQUIRE);
    dh_use(value); //~ race 1: read
    pthread_join(thread, 0);
    return seen == 2 ? 0 : 1;
}
