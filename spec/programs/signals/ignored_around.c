// What the interrupted code ignores of synchronisation is nothing to a handler: what that releases is released.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include "../order.h"

void AnnotateIgnoreSyncBegin(const char *file, int line);
void AnnotateIgnoreSyncEnd(const char *file, int line);

int value, ready;

static void handler(int number) {
    value = number; //~ race 1: write
    __atomic_store_n(&ready, 1, __ATOMIC_RELAXED);
}

static void *worker(void *nothing) {
    AnnotateIgnoreSyncBegin(__FILE__, __LINE__);
    raise(SIGUSR1);
    AnnotateIgnoreSyncEnd(__FILE__, __LINE__);
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    struct sigaction action = {.sa_handler = handler};
    sigaction(SIGUSR1, &action, 0);
    pthread_create(&thread, 0, worker, 0);
    dh_step(1);
    dh_use(__atomic_load_n(&ready, __ATOMIC_ACQUIRE));
    dh_use(value); //~ race 1: read
    pthread_join(thread, 0);
    return 0;
}
