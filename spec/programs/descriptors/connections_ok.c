// What comes out of a connection is behind what went into it, and not behind what went into another, also where the descriptor was another's before.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include "../order.h"

int first;
int second;
int ends[3][2];

static void connected(int *pair) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&address, size) || listen(listener, 1) ||
        getsockname(listener, (struct sockaddr *)&address, &size))
        abort();
    pair[0] = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(pair[0], (struct sockaddr *)&address, size))
        abort();
    pair[1] = accept(listener, 0, 0);
    close(listener);
}

static void put(int file) {
    if (send(file, "x", 1, 0) != 1)
        abort();
}

static void get(int file) {
    char byte;
    if (recv(file, &byte, 1, 0) != 1)
        abort();
}

static void *worker(void *nothing) {
    get(ends[1][1]);
    dh_use(first);
    dh_done(0);
    dh_step(1);
    get(ends[2][1]);
    dh_use(second);
    return nothing;
}

int main(void) {
    pthread_t thread;
    for (int i = 0; i < 2; i++)
        connected(ends[i]);
    put(ends[0][0]);
    get(ends[0][1]);
    close(ends[0][0]);
    close(ends[0][1]);
    connected(ends[2]);
    pthread_create(&thread, 0, worker, 0);
    first = 1;
    put(ends[1][0]);
    dh_step(0);
    second = 1;
    put(ends[2][0]);
    put(ends[1][0]);
    dh_done(1);
    pthread_join(thread, 0);
    return 0;
}
