// Stores by a null pointer take place nowhere, but what their threads store elsewhere does.
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include "../order.h"

int value;
int *volatile nowhere;
static __thread sigjmp_buf back;

static void handler(int number) {
    siglongjmp(back, number);
}

static void fault(void) {
    if (!sigsetjmp(back, 1))
        *nowhere = 1;
}

static void *worker(void *nothing) {
    fault();
    value = 1; //~ race 1: write
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    struct sigaction action = {.sa_handler = handler};
    sigaction(SIGSEGV, &action, 0);
    pthread_create(&thread, 0, worker, 0);
    dh_step(1);
    fault();
    value = 2; //~ race 1: write
    pthread_join(thread, 0);
    return 0;
}
