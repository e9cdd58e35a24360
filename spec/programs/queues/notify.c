// The function that is called when a queue has a message comes after what was done before the message was sent.
#define _GNU_SOURCE
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
#include "../order.h"

int value, queue;
sem_t done;

static void *worker(void *nothing) {
    dh_step(2);
    return nothing;
}

static void arrived(union sigval given) {
    dh_use(given.sival_int);
    dh_step(1);
    dh_use(value); //~ race 1: read
    sem_post(&done);
}

int main(void) {
    pthread_t thread;
    char name[32];
    struct mq_attr attributes = {.mq_maxmsg = 1, .mq_msgsize = 8};
    struct sigevent wish = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = arrived};
    snprintf(name, sizeof name, "/deadheat-%d", getpid());
    queue = mq_open(name, O_CREAT | O_RDWR, 0600, &attributes);
    if (queue < 0)
        return 1;
    mq_unlink(name);
    sem_init(&done, 0, 0);
    pthread_create(&thread, 0, worker, 0);
    if (mq_notify(queue, &wish) != 0)
        return 1;
    mq_send(queue, "x", 1, 3);
    value = 1; //~ race 1: write
    dh_done(1);
    sem_wait(&done);
    mq_close(queue);
    dh_done(2);
    pthread_join(thread, 0);
    return 0;
}
