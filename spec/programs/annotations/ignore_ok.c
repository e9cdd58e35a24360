// Writes and reads that the program asked to ignore are not judged.
#include <pthread.h>
#include "../order.h"

void AnnotateIgnoreWritesBegin(const char *file, int line);
void AnnotateIgnoreWritesEnd(const char *file, int line);
void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);

int one, other;

static void *writer(void *nothing) {
    other = 1;
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
    one = 1;
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, writer, 0);
    dh_step(1);
    dh_use(one);
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    dh_use(other);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
    pthread_join(thread, 0);
    return 0;
}
