// Who jumps out of a handler comes back to where synchronisation is ignored.
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include "../order.h"

void AnnotateIgnoreSyncBegin(const char *file, int line);
void AnnotateIgnoreSyncEnd(const char *file, int line);

int value, ready;
sigjmp_buf back;

static void handler(int number) {
    siglongjmp(back, number);
}

static void *worker(void *nothing) {
    AnnotateIgnoreSyncBegin(__FILE__, __LINE__);
    if (!sigsetjmp(back, 1))
        raise(SIGUSR1);
    value = 1; //~ race 1: write
    __atomic_store_n(&ready, 1, __ATOMIC_RELEASE);
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
