// A lock that lives in a library which is not instrumented protects a plain counter.
//! uninstrumented: parts/lock.c
#include <pthread.h>

void library_lock(void);
void library_unlock(void);

int counter;

static void *worker(void *nothing) {
    for (int i = 0; i < 3; i++) {
        library_lock();
        counter = counter + 1;
        library_unlock();
    }
    return nothing;
}

int main(void) {
    pthread_t one, other;
    pthread_create(&one, 0, worker, 0);
    pthread_create(&other, 0, worker, 0);
    pthread_join(one, 0);
    pthread_join(other, 0);
    return counter == 6 ? 0 : 1;
}
