// A signal handler counts what its thread has seen while another thread takes the count and clears it.
#include <pthread.h>
#include <signal.h>
#include "../hunt.h"

int count;

static void handler(int number) {
    (void)number;
    __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
}

static void *interrupted(void *nothing) {
    raise(SIGUSR1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    struct sigaction action = {.sa_handler = handler};
    sigaction(SIGUSR1, &action, 0);
    pthread_create(&thread, 0, interrupted, 0);
    USE(__atomic_load_n(&count, __ATOMIC_RELAXED));
    __atomic_store_n(&count, 0, __ATOMIC_RELAXED);
    pthread_join(thread, 0);
    return 0;
}
