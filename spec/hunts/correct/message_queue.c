// A message in a queue of the kernel's hands over the block that its number names.
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

int blocks[3];
mqd_t queue;

static void *sender(void *nothing) {
    for (char number = 0; number < 3; number++) {
        blocks[(int)number] = number + 1;
        mq_send(queue, &number, 1, 0);
    }
    return nothing;
}

int main(void) {
    pthread_t thread;
    char name[32], number;
    int sum = 0;
    struct mq_attr sizes = {.mq_maxmsg = 2, .mq_msgsize = 1};
    snprintf(name, sizeof name, "/deadheat-%d", (int)getpid());
    queue = mq_open(name, O_CREAT | O_EXCL | O_RDWR, 0600, &sizes);
    if (queue == (mqd_t)-1)
        return 1;
    mq_unlink(name);
    pthread_create(&thread, 0, sender, 0);
    for (int i = 0; i < 3; i++) {
        if (mq_receive(queue, &number, 1, 0) != 1)
            return 1;
        sum += blocks[(int)number];
        blocks[(int)number] = 0;
    }
    pthread_join(thread, 0);
    return sum == 6 ? 0 : 1;
}
