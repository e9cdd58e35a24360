// A barrier at which threads ignore synchronisation orders nothing.
#include <pthread.h>
#include "../order.h"

void AnnotateIgnoreSyncBegin(const char *file, int line);
void AnnotateIgnoreSyncEnd(const char *file, int line);

static pthread_barrier_t barrier;
int value;

static void meet(void) {
    AnnotateIgnoreSyncBegin(__FILE__, __LINE__);
    pthread_barrier_wait(&barrier);
    AnnotateIgnoreSyncEnd(__FILE__, __LINE__);
}

static void *other(void *nothing) {
    meet();
    value = 2; //~ race 1: write
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_barrier_init(&barrier, 0, 2);
    pthread_create(&thread, 0, other, 0);
    value = 1; //~ race 1: write
    meet();
    pthread_join(thread, 0);
    pthread_barrier_destroy(&barrier);
    return 0;
}
