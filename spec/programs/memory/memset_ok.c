// memset writes exactly its bytes, over page borders too.
#include <pthread.h>
#include <string.h>
#include "../order.h"

char buffer[3 * 4096];
unsigned long size = 2 * 4096 + 5;

static void *setter(void *nothing) {
    memset(buffer, 1, size);
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, setter, 0);
    dh_step(1);
    dh_use(buffer[2 * 4096 + 5]);
    pthread_join(thread, 0);
    return 0;
}
