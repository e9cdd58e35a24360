// A thread's own variable is shared once its address has been given away.
#include <pthread.h>
#include "../hunt.h"

_Thread_local int own;

static void *worker(void *place) {
    (void)place;
    own = 1;
    return 0;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, worker, &own);
    own = 2;
    APART();
    pthread_join(thread, 0);
    USE(own);
    return 0;
}
