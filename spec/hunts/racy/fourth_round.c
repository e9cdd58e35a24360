// A loop writes five elements, one a round: only the fourth is somebody else's too.
#include <pthread.h>
#include "../hunt.h"

int slots[6];

WHOLE static void put(int round) {
    slots[round] = round; //~ race 1: write
}

static void *filler(void *nothing) {
    for (int round = 0; round < 5; round++)
        put(round);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, filler, 0);
    USE(slots[3]); //~ race 1: read
    pthread_join(thread, 0);
    return 0;
}
