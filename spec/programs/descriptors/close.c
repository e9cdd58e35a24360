// To close a descriptor is to write to it: who reads from it meanwhile may read another file.
//! location 1: descriptor
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>
#include "../order.h"

int file;

static void *reader(void *nothing) {
    char byte;
    dh_use(read(file, &byte, 1)); //~ race 1: read
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    file = open("/dev/zero", O_RDONLY);
    pthread_create(&thread, 0, reader, 0);
    dh_step(1);
    close(file); //~ race 1: free
    pthread_join(thread, 0);
    return 0;
}
