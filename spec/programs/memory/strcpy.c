// strcpy reads its source and writes its target up to the zero, and the zero itself.
#include <pthread.h>
#include <string.h>
#include "../order.h"

char from[32] = "four", to[32];

static void *copier(void *nothing) {
    strcpy(to, from); //~ race 1: write, race 2: read
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, copier, 0);
    dh_step(1);
    dh_use(to[4]); //~ race 1: read
    from[4] = 's'; //~ race 2: write
    pthread_join(thread, 0);
    return 0;
}
