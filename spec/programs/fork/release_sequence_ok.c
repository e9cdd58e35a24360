// A child's first thread and those that it makes are told apart, also where the first had another number before.
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../order.h"

int value;
atomic_int flag;

static void *continues(void *nothing) {
    dh_step(0);
    atomic_fetch_add_explicit(&flag, 1, memory_order_relaxed);
    dh_done(1);
    return nothing;
}

static void *reads(void *nothing) {
    dh_step(1);
    atomic_load_explicit(&flag, memory_order_acquire);
    dh_use(value);
    return nothing;
}

static void *forks(void *nothing) {
    pid_t child = fork();
    if (child == 0) {
        pthread_t first, second;
        pthread_create(&first, 0, continues, 0);
        pthread_create(&second, 0, reads, 0);
        value = 1;
        atomic_store_explicit(&flag, 1, memory_order_release);
        dh_done(0);
        pthread_join(first, 0);
        pthread_join(second, 0);
        _exit(0);
    }
    waitpid(child, 0, 0);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, forks, 0);
    pthread_join(thread, 0);
    return 0;
}
