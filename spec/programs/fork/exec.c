// A program that replaces itself by exec is watched in its new image too.
#include <pthread.h>
#include <unistd.h>
#include "../order.h"

int value;

static void *writer(void *nothing) {
    value = 1; //~ race 1: write
    dh_done(1);
    return nothing;
}

int main(int count, char **arguments) {
    (void)arguments;
    if (count == 1)
        execl("/proc/self/exe", "again", "again", (char *)0);
    pthread_t thread;
    pthread_create(&thread, 0, writer, 0);
    dh_step(1);
    dh_use(value); //~ race 1: read
    pthread_join(thread, 0);
    return count == 2 ? 0 : 1;
}
