// Two threads take turns at a plain value: each waits in poll until the other's byte has come.
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

int value, pipes[2][2];

static int turn(int mine) {
    struct pollfd readable = {.fd = pipes[mine][0], .events = POLLIN};
    char byte;
    if (poll(&readable, 1, -1) != 1 || read(pipes[mine][0], &byte, 1) != 1)
        return 1;
    value = value + 1;
    return write(pipes[1 - mine][1], &byte, 1) != 1;
}

static void *worker(void *nothing) {
    for (int i = 0; i < 3; i++)
        turn(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    if (pipe(pipes[0]) || pipe(pipes[1]) || write(pipes[0][1], "x", 1) != 1)
        return 1;
    pthread_create(&thread, 0, worker, 0);
    for (int i = 0; i < 3; i++)
        turn(0);
    pthread_join(thread, 0);
    return value == 6 ? 0 : 1;
}
