// A byte through a pipe hands a plain value over, and another one hands it back.
#include <pthread.h>
#include <unistd.h>
#include "../hunt.h"

int value, there[2], back[2];

static void *worker(void *nothing) {
    char byte;
    if (read(there[0], &byte, 1) != 1)
        return nothing;
    USE(value);
    value = 2;
    if (write(back[1], &byte, 1) != 1)
        return nothing;
    return nothing;
}

int main(void) {
    pthread_t thread;
    char byte = 'x';
    if (pipe(there) || pipe(back))
        return 1;
    pthread_create(&thread, 0, worker, 0);
    value = 1;
    if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
        return 1;
    USE(value);
    value = 3;
    pthread_join(thread, 0);
    return 0;
}
