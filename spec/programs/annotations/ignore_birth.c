// A block that is allocated while reads are ignored is ordered by the locks behind that.
#include <pthread.h>
#include <stdlib.h>
#include "../order.h"

void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int *block;

DH_HIDDEN void keep(int *got) {
    block = got;
}

DH_HIDDEN int *kept(void) {
    return block;
}

static void *allocates(void *nothing) {
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    pthread_mutex_lock(&mutex);
    keep(malloc(sizeof(int))); //~ race 1: write
    pthread_mutex_unlock(&mutex);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
    dh_done(0);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, allocates, 0);
    dh_step(0);
    *kept() = 1; //~ race 1: write
    pthread_join(thread, 0);
    free(kept());
    return 0;
}
