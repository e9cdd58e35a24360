// strcat reads its target to find its end, and writes there.
#include <pthread.h>
#include <string.h>
#include "../order.h"

char more[8] = "ty", text[32] = "four";

static void *appender(void *nothing) {
    strcat(text, more);
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, appender, 0);
    dh_step(1);
    dh_use(text[7]);
    pthread_join(thread, 0);
    return 0;
}
