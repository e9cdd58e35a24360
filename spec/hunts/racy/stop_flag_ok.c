// A volatile flag stops a thread: volatile orders nothing.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

atomic_int stop;

static void *worker(void *nothing) {
    while (!stop)
        sched_yield();
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, worker, 0);
    sched_yield();
    stop = 1;
    pthread_join(thread, 0);
    return 0;
}
