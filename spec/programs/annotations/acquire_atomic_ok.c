// __tsan_acquire of an atomic's address sees what a release store there published, and of a mutex's what its last holder did.
#include <pthread.h>
#include "../order.h"

void __tsan_acquire(void *object);
void __tsan_release(void *object);

int value, other;
long state;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *writer(void *nothing) {
    value = 1;
    __atomic_store_n(&state, 1, __ATOMIC_RELEASE);
    pthread_mutex_lock(&mutex);
    other = 1;
    pthread_mutex_unlock(&mutex);
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, writer, 0);
    dh_step(1);
    int seen = __atomic_load_n(&state, __ATOMIC_RELAXED) == 1;
    __tsan_acquire(&state);
    dh_use(value);
    __tsan_acquire(&mutex);
    dh_use(other);
    pthread_join(thread, 0);
    return seen ? 0 : 1;
}
