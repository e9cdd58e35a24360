// A lock in inline assembly, in a part that is not instrumented, protects a plain counter.
//! uninstrumented: parts/assembly.c
#include <pthread.h>

void assembly_lock(void);
void assembly_unlock(void);

int counter;

static void *worker(void *nothing) {
    for (int i = 0; i < 3; i++) {
        assembly_lock();
        counter = counter + 1;
        assembly_unlock();
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
