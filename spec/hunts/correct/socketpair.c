// A message through a pair of sockets hands a plain value over.
#include <pthread.h>
#include <sys/socket.h>
#include "../hunt.h"

int value, ends[2];

static void *worker(void *nothing) {
    char message[4];
    if (recv(ends[1], message, sizeof message, 0) == 4) {
        USE(value);
        value = 2;
        if (send(ends[1], message, 2, 0) != 2)
            return 0;
    }
    return nothing;
}

int main(void) {
    pthread_t thread;
    char message[4] = "go!";
    if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends))
        return 1;
    pthread_create(&thread, 0, worker, 0);
    value = 1;
    if (send(ends[0], message, sizeof message, 0) != 4 || recv(ends[0], message, 2, 0) != 2)
        return 1;
    value = 3;
    pthread_join(thread, 0);
    return 0;
}
