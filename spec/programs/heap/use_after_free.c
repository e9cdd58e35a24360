// An access that comes after an unordered free races with it too.
#include <pthread.h>
#include <stdlib.h>
#include "../order.h"

char *volatile block;

static void *reader(void *nothing) {
    char *mine = block;
    dh_step(1);
    dh_use(mine[8]); //~ race 1: read
    dh_done(2);
    return nothing;
}

int main(void) {
    pthread_t thread;
    block = malloc(4000);
    char *mine = block;
    pthread_create(&thread, 0, reader, 0);
    free(mine); //~ race 1: free
    dh_done(1);
    dh_step(2);
    pthread_join(thread, 0);
    return 0;
}
