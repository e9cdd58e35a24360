// Who gets a message of a System V queue comes after what was done before it was sent.
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include "../order.h"

int value, queue;

static void *worker(void *nothing) {
    struct {
        long kind;
        char text[8];
    } message;
    if (msgrcv(queue, &message, sizeof message.text, 0, 0) != 1)
        return nothing;
    dh_step(1);
    dh_use(value);
    return nothing;
}

int main(void) {
    pthread_t thread;
    struct {
        long kind;
        char text[8];
    } message = {1, "x"};
    queue = msgget(IPC_PRIVATE, 0600);
    if (queue < 0)
        return 1;
    pthread_create(&thread, 0, worker, 0);
    value = 1;
    msgsnd(queue, &message, 1, 0);
    dh_done(1);
    pthread_join(thread, 0);
    msgctl(queue, IPC_RMID, 0);
    return 0;
}
