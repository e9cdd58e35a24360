// Three threads run the same code: only the second and the third write to the same place.
#include <pthread.h>
#include "../hunt.h"

int slots[3];

static void *worker(void *slot) {
    *(int *)slot = 1; //~ race 1: write, race 1: write
    return 0;
}

int main(void) {
    pthread_t threads[3];
    int *const places[3] = {&slots[0], &slots[1], &slots[1]};
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], 0, worker, places[i]);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], 0);
    return 0;
}
