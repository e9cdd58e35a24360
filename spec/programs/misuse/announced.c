// A lock of the program's own that it announces follows the same rules.
#include <pthread.h>

void AnnotateRWLockCreate(const char *file, int line, const volatile void *lock);
void AnnotateRWLockDestroy(const char *file, int line, const volatile void *lock);
void AnnotateRWLockAcquired(const char *file, int line, const volatile void *lock, long write);
void AnnotateRWLockReleased(const char *file, int line, const volatile void *lock, long write);

long lock;

static void *stranger(void *nothing) {
    AnnotateRWLockReleased(__FILE__, __LINE__, &lock, 1); //~ finding 1: unlock-not-held
    return nothing;
}

int main(void) {
    pthread_t thread;
    AnnotateRWLockCreate(__FILE__, __LINE__, &lock);
    AnnotateRWLockAcquired(__FILE__, __LINE__, &lock, 1);
    pthread_create(&thread, 0, stranger, 0);
    pthread_join(thread, 0);
    AnnotateRWLockReleased(__FILE__, __LINE__, &lock, 1);
    AnnotateRWLockAcquired(__FILE__, __LINE__, &lock, 0);
    AnnotateRWLockReleased(__FILE__, __LINE__, &lock, 0);
    AnnotateRWLockDestroy(__FILE__, __LINE__, &lock);
    return 0;
}
