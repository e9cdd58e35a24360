// A relaxed read-modify-write passes on the releases before it, but publishes nothing of its own.
#include <pthread.h>
#include <stdatomic.h>
#include "../order.h"

int first_value, second_value;
atomic_int count;

static void *first(void *nothing) {
    first_value = 1;
    atomic_fetch_add_explicit(&count, 1, memory_order_release);
    dh_done(1);
    return nothing;
}

static void *second(void *nothing) {
    dh_step(1);
    second_value = 1;
    atomic_fetch_add_explicit(&count, 1, memory_order_release);
    dh_done(2);
    return nothing;
}

int main(void) {
    pthread_t one, other;
    pthread_create(&one, 0, first, 0);
    pthread_create(&other, 0, second, 0);
    dh_step(2);
    if (atomic_load_explicit(&count, memory_order_acquire) == 2) {
        dh_use(first_value);
        dh_use(second_value);
    }
    pthread_join(one, 0);
    pthread_join(other, 0);
    return 0;
}
