// strdup reads the string that it copies, and its copy has no past.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "../order.h"

char text[32] = "four";

static void *copier(void *nothing) {
    char *copy = strdup(text);
    copy[0] = 'h';
    dh_use(copy);
    free(copy);
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, copier, 0);
    dh_step(1);
    pthread_join(thread, 0);
    text[4] = 's';
    return 0;
}
