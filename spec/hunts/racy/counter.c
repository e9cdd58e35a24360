// Two threads count without a lock: a step of one can fall between the load and the store of the other.
#include <pthread.h>
#include "../hunt.h"

int counter;

WHOLE static int next(int number) {
    return number + 1;
}

static void *count(void *nothing) {
    for (int i = 0; i < 3; i++) {
        counter = next(counter); //~ race 1: read, race 1: write, race 2: write, race 2: write
        APART();
    }
    return nothing;
}

int main(void) {
    pthread_t one, other;
    pthread_create(&one, 0, count, 0);
    pthread_create(&other, 0, count, 0);
    pthread_join(one, 0);
    pthread_join(other, 0);
    return 0;
}
