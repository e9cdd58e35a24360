// What was written before a release fence is there for whoever passed an acquire fence since: nothing races here.
#include <pthread.h>
#include <stdatomic.h>

long data;
static atomic_int ready;

static void *publish(void *argument) {
    data = 42;
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&ready, 1, memory_order_relaxed);
    return argument;
}

static void *use(void *argument) {
    while (!atomic_load_explicit(&ready, memory_order_relaxed))
        ;
    atomic_thread_fence(memory_order_acquire);
    return data == 42 ? argument : &data;
}

int main(void) {
    pthread_t threads[2];
    void *wrong;
    pthread_create(&threads[0], 0, use, 0);
    pthread_create(&threads[1], 0, publish, 0);
    pthread_join(threads[1], 0);
    pthread_join(threads[0], &wrong);
    return wrong != 0;
}
