// To put a descriptor in another's place is to use it: who closes that one meanwhile races with it.
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>
#include "../order.h"

int file;

static void *closer(void *nothing) {
    dh_step(1);
    close(file);
    return nothing;
}

int main(void) {
    pthread_t thread;
    file = open("/dev/zero", O_RDONLY);
    int other = open("/dev/null", O_RDONLY);
    dup2(other, file);
    dh_done(1);
    pthread_create(&thread, 0, closer, 0);
    pthread_join(thread, 0);
    return 0;
}
