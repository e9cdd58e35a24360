// The address of a loop's variable is given to the threads that the loop makes, and the loop goes on.
#include <pthread.h>
#include "../hunt.h"

static void *worker(void *argument) {
    int mine = *(int *)argument; //~ race 1: read
    USE(mine);
    return 0;
}

int main(void) {
    pthread_t threads[2];
    int i;
    for (i = 0; i < 2; i++) { //~ race 1: write
        pthread_create(&threads[i], 0, worker, &i);
        APART();
    }
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    return 0;
}
