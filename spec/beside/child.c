// The child of a process with a second thread makes threads of its own, and those race.
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../programs/order.h"

long value;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int stop;

static void *wait_for_end(void *argument) {
    dh_done(3);
    dh_step(4);
    pthread_mutex_lock(&lock);
    stop = 1;
    pthread_mutex_unlock(&lock);
    return argument;
}

static void *first(void *argument) {
    value = 1; //~ race 1: write
    dh_done(1);
    return argument;
}

static void *second(void *argument) {
    dh_step(1);
    value = 2; //~ race 1: write
    return argument;
}

static void race(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], 0, first, 0);
    pthread_create(&threads[1], 0, second, 0);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
}

int main(void) {
    pthread_t other;
    int status = 0;
    pthread_create(&other, 0, wait_for_end, 0);
    dh_step(3);
    pid_t child = fork();
    if (child == 0) {
        race();
        return 0;
    }
    waitpid(child, &status, 0);
    dh_done(4);
    pthread_join(other, 0);
    return 0;
}
