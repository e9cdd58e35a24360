// Every kind of read-modify-write passes on what came before it if its order releases.
#include <pthread.h>
#include <stdatomic.h>
#include "../order.h"

enum { KINDS = 5 };

int values[KINDS];
atomic_int flags[KINDS];

static void *writer(void *nothing) {
    for (int i = 0; i < KINDS; i++)
        values[i] = 1;
    atomic_fetch_add_explicit(&flags[0], 1, memory_order_release);
    atomic_fetch_sub_explicit(&flags[1], 1, memory_order_release);
    atomic_fetch_or_explicit(&flags[2], 1, memory_order_release);
    atomic_fetch_xor_explicit(&flags[3], 1, memory_order_release);
    atomic_exchange_explicit(&flags[4], 1, memory_order_release);
    dh_done(1);
    return nothing;
}

static void *reader(void *index) {
    int i = *(int *)index;
    atomic_fetch_and_explicit(&flags[i], 3, memory_order_acquire);
    dh_use(values[i]);
    return 0;
}

int main(void) {
    pthread_t thread, readers[KINDS];
    int indices[KINDS] = {0, 1, 2, 3, 4};
    pthread_create(&thread, 0, writer, 0);
    dh_step(1);
    for (int i = 0; i < KINDS; i++)
        pthread_create(&readers[i], 0, reader, &indices[i]);
    for (int i = 0; i < KINDS; i++)
        pthread_join(readers[i], 0);
    pthread_join(thread, 0);
    return 0;
}
