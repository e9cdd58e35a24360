// A read-write lock of the program's own making is announced with its mode.
#include <pthread.h>
#include "../order.h"

void AnnotateRWLockCreate(const char *file, int line, const volatile void *lock);
void AnnotateRWLockAcquired(const char *file, int line, const volatile void *lock, long write);
void AnnotateRWLockReleased(const char *file, int line, const volatile void *lock, long write);

int value, lock;

static void *writer(void *nothing) {
    enum { MODE = 1 };
    AnnotateRWLockAcquired(__FILE__, __LINE__, &lock, MODE);
    value = 1;
    AnnotateRWLockReleased(__FILE__, __LINE__, &lock, MODE);
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    AnnotateRWLockCreate(__FILE__, __LINE__, &lock);
    pthread_create(&thread, 0, writer, 0);
    dh_step(1);
    AnnotateRWLockAcquired(__FILE__, __LINE__, &lock, 0);
    dh_use(value);
    AnnotateRWLockReleased(__FILE__, __LINE__, &lock, 0);
    pthread_join(thread, 0);
    return 0;
}
