// Thread-local storage has no past: only the global races, not a new thread's own variable.
#include <pthread.h>
#include "../order.h"

int value;
_Thread_local int own;

static void *first(void *nothing) {
    own = 1;
    value = 1;
    dh_leave(1);
    return nothing;
}

static void *second(void *nothing) {
    own = 2;
    value = 2;
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, first, 0);
    pthread_join(thread, 0);
    dh_gone(1);
    pthread_create(&thread, 0, second, 0);
    pthread_join(thread, 0);
    return 0;
}
