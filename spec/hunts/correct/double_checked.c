// Double-checked locking as it should be: an atomic pointer, stored when all is made.
#include <pthread.h>
#include <stdatomic.h>
#include "../hunt.h"

struct settings { int colour, size; };
struct settings storage;
_Atomic(struct settings *) settings;
atomic_flag making = ATOMIC_FLAG_INIT;

static struct settings *get(void) {
    struct settings *made = atomic_load_explicit(&settings, memory_order_acquire);
    if (!made && !atomic_flag_test_and_set_explicit(&making, memory_order_acquire)) {
        storage.colour = 3;
        storage.size = 4;
        made = &storage;
        atomic_store_explicit(&settings, made, memory_order_release);
    }
    return made;
}

static void *worker(void *nothing) {
    for (int i = 0; i < 3; i++) {
        struct settings *made = get();
        if (made)
            USE(made->colour + made->size);
    }
    return nothing;
}

int main(void) {
    pthread_t one, other;
    pthread_create(&one, 0, worker, 0);
    pthread_create(&other, 0, worker, 0);
    pthread_join(one, 0);
    pthread_join(other, 0);
    return 0;
}
