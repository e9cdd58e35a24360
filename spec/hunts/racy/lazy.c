// Who comes first makes the table; two can come first.
#include <pthread.h>
#include "../hunt.h"

int storage[4] = {1, 2, 3, 4};
int *table;

WHOLE static int *make(void) {
    return storage;
}

WHOLE static int *get(void) {
    int *made = table; //~ race 1: read
    if (!made) {
        made = make();
        table = made; //~ race 1: write, race 2: write, race 2: write
    }
    return made;
}

static void *worker(void *nothing) {
    USE(get()[2]);
    return nothing;
}

int main(void) {
    pthread_t one, other;
    pthread_create(&one, 0, worker, 0);
    pthread_create(&other, 0, worker, 0);
    pthread_join(one, 0);
    pthread_join(other, 0);
    return 0;
}
