// Each thread has its own of a thread-local variable: two that write to theirs do not race.
#include <pthread.h>
#include "../order.h"

_Thread_local int own;

static void *writer(void *nothing) {
    own = 1;
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, writer, 0);
    dh_step(1);
    own = 2;
    pthread_join(thread, 0);
    return 0;
}
