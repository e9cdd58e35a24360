// An event of one word and raw futex calls, in a part that is not instrumented, hands a plain value over.
//! uninstrumented: parts/event.c
#include <pthread.h>
#include "../hunt.h"

void event_set(void);
void event_wait(void);

int value;

static void *worker(void *nothing) {
    value = 1;
    event_set();
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, worker, 0);
    event_wait();
    USE(value);
    value = 2;
    pthread_join(thread, 0);
    return 0;
}
