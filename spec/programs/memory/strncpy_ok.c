// strncpy fills its target with zeros to the end.
#include <pthread.h>
#include <string.h>
#include "../order.h"

char from[32] = "four", to[32];
unsigned long size = 16;

static void *copier(void *nothing) {
    strncpy(to, from, size);
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, copier, 0);
    dh_step(1);
    dh_use(to[16]);
    pthread_join(thread, 0);
    return 0;
}
