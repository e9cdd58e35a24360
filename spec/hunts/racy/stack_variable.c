// A variable on the stack is shared once its address has been given away.
#include <pthread.h>
#include "../hunt.h"

static void *worker(void *place) {
    *(int *)place = 1; //~ race 1: write
    return 0;
}

int main(void) {
    pthread_t thread;
    int local = 0;
    pthread_create(&thread, 0, worker, &local);
    local = 2; //~ race 1: write
    APART();
    pthread_join(thread, 0);
    USE(local);
    return 0;
}
