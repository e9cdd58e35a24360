// read writes into its buffer the bytes that it got, and no more.
#include <pthread.h>
#include <unistd.h>
#include "../order.h"

int ends[2];
char buffer[64];

static void *receiver(void *nothing) {
    if (read(ends[0], buffer, sizeof buffer) == 8) //~ race 1: write
        dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    if (pipe(ends) != 0 || write(ends[1], "8 bytes.", 8) != 8)
        return 1;
    pthread_create(&thread, 0, receiver, 0);
    dh_step(1);
    dh_use(buffer[7]); //~ race 1: read
    pthread_join(thread, 0);
    return 0;
}
