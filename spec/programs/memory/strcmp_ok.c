// strcmp reads both strings up to where they differ.
#include <pthread.h>
#include <string.h>
#include "../order.h"

char one[32] = "abcX", other[32] = "abcY";

static void *comparer(void *nothing) {
    dh_use(strcmp(one, other));
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, comparer, 0);
    dh_step(1);
    pthread_join(thread, 0);
    one[3] = 'Z';
    other[0] = 'Z';
    return 0;
}
