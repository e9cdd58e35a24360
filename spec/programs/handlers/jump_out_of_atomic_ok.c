// A handler that jumps out of an atomic operation leaves neither other threads waiting nor its own one deaf.
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include "../order.h"

enum { PAGE = 4096 };

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
sigjmp_buf back;
int *word;
int value;

static void on_fault(int signal) {
    (void)signal;
    siglongjmp(back, 1);
}

static void *other(void *nothing) {
    dh_step(0);
    __atomic_fetch_add(word, 1, __ATOMIC_RELAXED);
    pthread_mutex_lock(&mutex);
    value = 2;
    pthread_mutex_unlock(&mutex);
    return nothing;
}

int main(void) {
    pthread_t thread;
    struct sigaction action = {.sa_handler = on_fault};
    sigaction(SIGSEGV, &action, 0);
    word = mmap(0, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_create(&thread, 0, other, 0);
    if (sigsetjmp(back, 1) == 0)
        __atomic_fetch_add(word, 1, __ATOMIC_ACQ_REL);
    mprotect(word, PAGE, PROT_READ | PROT_WRITE);
    pthread_mutex_lock(&mutex);
    value = 1;
    pthread_mutex_unlock(&mutex);
    dh_done(0);
    pthread_join(thread, 0);
    return 0;
}
