// A handler that interrupts what is no part of the program is heard like any other.
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include "../order.h"

int value;
static sem_t named;

static void on_signal(int signal) {
    (void)signal;
    sem_post(&named);
}

// What threads are called is asked unseen, while they are created.
unsigned long deadheat_thread_name(void *(*routine)(void *), void *argument);
unsigned long deadheat_thread_name(void *(*routine)(void *), void *argument) {
    (void)routine, (void)argument;
    raise(SIGUSR1);
    return 0;
}

static void *reader(void *argument) {
    sem_wait(&named);
    sem_wait(&named);
    dh_step(1);
    dh_use(value); //~ race 1: read
    return argument;
}

static void *nothing(void *argument) { return argument; }

int main(void) {
    struct sigaction action = {.sa_handler = on_signal};
    pthread_t first, second;
    sem_init(&named, 0, 0);
    sigaction(SIGUSR1, &action, 0);
    pthread_create(&first, 0, reader, 0);
    pthread_create(&second, 0, nothing, 0);
    value = 1; //~ race 1: write
    dh_done(1);
    pthread_join(first, 0);
    pthread_join(second, 0);
    return 0;
}
