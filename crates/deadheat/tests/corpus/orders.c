// What orders the two accesses depends on the options: a relaxed flag, a pipe, or two pipes that have nothing to do with each other.
#include <pthread.h>
#include <string.h>
#include <unistd.h>
#include "order.h"

static int value, flag, one[2], other[2];
static const char *way;

static void put(int end) {
    if (write(end, "x", 1) != 1)
        _exit(1);
}

static void take(int end) {
    char byte;
    if (read(end, &byte, 1) != 1)
        _exit(1);
}

static void *writer(void *unused) {
    value = 1;
    if (strcmp(way, "relaxed") == 0)
        __atomic_store_n(&flag, 1, __ATOMIC_RELAXED);
    else
        put(one[1]);
    dh_done(0);
    return unused;
}

int main(int count, char **arguments) {
    pthread_t thread;
    if (count < 2 || pipe(one) != 0 || pipe(other) != 0)
        return 1;
    way = arguments[1];
    put(other[1]);
    pthread_create(&thread, 0, writer, 0);
    dh_step(0);
    if (strcmp(way, "relaxed") == 0)
        dh_use(__atomic_load_n(&flag, __ATOMIC_RELAXED));
    else
        take(strcmp(way, "pipe") == 0 ? one[0] : other[0]);
    dh_use(value);
    pthread_join(thread, 0);
    return 0;
}
