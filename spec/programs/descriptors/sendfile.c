// Who gets what `sendfile` put into a socket comes after what was done before.
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>
#include "../order.h"

int value, ends[2];

static void *reader(void *nothing) {
    char byte;
    if (read(ends[0], &byte, 1) != 1)
        return nothing;
    dh_step(1);
    dh_use(value); //~ race 1: read
    return nothing;
}

int main(void) {
    pthread_t thread;
    off_t from = 1;
    int file = open("/proc/self/exe", O_RDONLY);
    if (file < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
        return 1;
    pthread_create(&thread, 0, reader, 0);
    if (sendfile(ends[1], file, &from, 1) != 1 || from != 2)
        return 1;
    value = 1; //~ race 1: write
    dh_done(1);
    pthread_join(thread, 0);
    return 0;
}
