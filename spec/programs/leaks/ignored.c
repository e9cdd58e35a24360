// A thread that has its accesses ignored ends that before it ends.
#include <pthread.h>

void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);

static void *blind(void *nothing) {
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, blind, 0); //~ finding 1: ignored-at-end
    pthread_join(thread, 0);
    return 0;
}
