// strcpy reads its source and writes its target up to the zero, and the zero itself.
#include <pthread.h>
#include <string.h>
#include "../order.h"

char from[32] = "four", to[32];

static void *copier(void *nothing) {
    strcpy(to, from);
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, copier, 0);
    dh_step(1);
    dh_use(to[5]);
    from[5] = 's';
    pthread_join(thread, 0);
    return 0;
}
