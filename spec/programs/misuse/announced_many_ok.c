// An announced lock follows the rules however many there were before it.
void AnnotateRWLockCreate(const char *file, int line, const volatile void *lock);
void AnnotateRWLockDestroy(const char *file, int line, const volatile void *lock);
void AnnotateRWLockAcquired(const char *file, int line, const volatile void *lock, long write);
void AnnotateRWLockReleased(const char *file, int line, const volatile void *lock, long write);

long lock, many[20000];

int main(void) {
    for (int i = 0; i < 20000; i++) {
        AnnotateRWLockCreate(__FILE__, __LINE__, &many[i]);
        AnnotateRWLockAcquired(__FILE__, __LINE__, &many[i], 1);
        AnnotateRWLockReleased(__FILE__, __LINE__, &many[i], 1);
    }
    for (int i = 0; i < 20000; i++)
        AnnotateRWLockDestroy(__FILE__, __LINE__, &many[i]);
    AnnotateRWLockCreate(__FILE__, __LINE__, &lock);
    AnnotateRWLockAcquired(__FILE__, __LINE__, &lock, 1);
    AnnotateRWLockReleased(__FILE__, __LINE__, &lock, 1);
    AnnotateRWLockDestroy(__FILE__, __LINE__, &lock);
    return 0;
}
