// A static variable of a function is one for all threads that call it.
#include <pthread.h>
#include "../hunt.h"

WHOLE static int next(int number) {
    return number + 1;
}

WHOLE static int ticket(void) {
    static int last;
    last = next(last); //~ race 1: read, race 1: write, race 2: write, race 2: write, race 3: write
    APART();
    return last; //~ race 3: read
}

static void *worker(void *nothing) {
    USE(ticket());
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
