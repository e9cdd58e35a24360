// What is printed into a pipe goes there before whoever reads it there.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
#include "../order.h"

int first, second, ends[2];

static void *printer(void *nothing) {
    dprintf(ends[1], "%d", 42);
    dprintf(ends[1], "%s", "ab");
    first = 1; //~ race 1: write
    second = 1; //~ race 2: write
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    char text[8];
    if (pipe(ends) != 0)
        return 1;
    pthread_create(&thread, 0, printer, 0);
    dh_step(1);
    if (read(ends[0], text, sizeof text) != 4)
        return 1;
    dh_use(first); //~ race 1: read
    dh_use(second); //~ race 2: read
    pthread_join(thread, 0);
    return 0;
}
