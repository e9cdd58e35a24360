// A thread's own variable is shared once its address has been given away.
#include <pthread.h>
#include "../hunt.h"

_Thread_local int own;

static void *worker(void *place) {
    *(int *)place = 1; //~ race 1: write
    return 0;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, worker, &own);
    own = 2; //~ race 1: write
    APART();
    pthread_join(thread, 0);
    USE(own);
    return 0;
}
