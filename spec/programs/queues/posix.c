// Who gets a message of a queue by `mq_receive` comes after what was done before it was sent.
#define _GNU_SOURCE
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
#include "../order.h"

int value, queue;

static void *worker(void *nothing) {
    char text[8];
    unsigned rank;
    if (mq_receive(queue, text, sizeof text, &rank) != 1 || rank != 3)
        return nothing;
    dh_step(1);
    dh_use(value); //~ race 1: read
    return nothing;
}

int main(void) {
    pthread_t thread;
    char name[32];
    struct mq_attr attributes = {.mq_maxmsg = 1, .mq_msgsize = 8};
    snprintf(name, sizeof name, "/deadheat-%d", getpid());
    queue = mq_open(name, O_CREAT | O_RDWR, 0600, &attributes);
    if (queue < 0)
        return 1;
    mq_unlink(name);
    pthread_create(&thread, 0, worker, 0);
    mq_send(queue, "x", 1, 3);
    value = 1; //~ race 1: write
    dh_done(1);
    pthread_join(thread, 0);
    mq_close(queue);
    return 0;
}
