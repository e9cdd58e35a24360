// write reads the bytes that it sends.
#include <pthread.h>
#include <unistd.h>
#include "../order.h"

int ends[2];
char buffer[64];

static void *sender(void *nothing) {
    if (write(ends[1], buffer, 32) == 32)
        dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    if (pipe(ends) != 0)
        return 1;
    pthread_create(&thread, 0, sender, 0);
    dh_step(1);
    buffer[32] = 1;
    pthread_join(thread, 0);
    return 0;
}
