// Two threads' order goes through another process: the first one's byte comes to the second by way of a child.
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../hunt.h"

int value, there[2], back[2];

static void *worker(void *nothing) {
    value = 1;
    if (write(there[1], "x", 1) != 1)
        value = 0;
    return nothing;
}

int main(void) {
    pthread_t thread;
    int status;
    char byte;
    if (pipe(there) || pipe(back))
        return 1;
    pid_t child = fork();
    if (child < 0)
        return 1;
    if (child == 0)
        _exit(read(there[0], &byte, 1) != 1 || write(back[1], &byte, 1) != 1);
    pthread_create(&thread, 0, worker, 0);
    if (read(back[0], &byte, 1) != 1)
        return 1;
    USE(value);
    value = 2;
    pthread_join(thread, 0);
    waitpid(child, &status, 0);
    return 0;
}
