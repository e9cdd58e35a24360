// strcmp reads both strings up to where they differ.
#include <pthread.h>
#include <string.h>
#include "../order.h"

char one[32] = "abcX", other[32] = "abcY";

static void *comparer(void *nothing) {
    dh_use(strcmp(one, other)); //~ race 1: read, race 2: read
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, comparer, 0);
    dh_step(1);
    one[3] = 'Z'; //~ race 1: write
    other[0] = 'Z'; //~ race 2: write
    pthread_join(thread, 0);
    return 0;
}
