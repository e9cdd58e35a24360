// What is printed into a pipe goes there before whoever reads it there.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
#include "../order.h"

int first, second, ends[2];

static void *printer(void *nothing) {
    first = 1;
    dprintf(ends[1], "%d", 42);
    second = 1;
    dprintf(ends[1], "%s", "ab");
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
    dh_use(first);
    dh_use(second);
    pthread_join(thread, 0);
    return 0;
}
