// A signal that is for one thread orders nothing for another one that gets the same.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include "../order.h"

int value;
pthread_t first, second;

static void handler(int number) {
    if (pthread_self() == second) {
        dh_use(number + value); //~ race 1: read
        dh_done(4);
    }
}

static void *waits(void *nothing) {
    dh_done(nothing ? 0 : 1);
    dh_step(4);
    return 0;
}

static void *sends(void *nothing) {
    dh_step(2);
    pthread_kill(second, SIGUSR1);
    return nothing;
}

int main(void) {
    pthread_t sender;
    struct sigaction action = {.sa_handler = handler};
    sigaction(SIGUSR1, &action, 0);
    pthread_create(&first, 0, waits, &first);
    pthread_create(&second, 0, waits, 0);
    pthread_create(&sender, 0, sends, 0);
    dh_step(0);
    dh_step(1);
    value = 1; //~ race 1: write
    pthread_kill(first, SIGUSR1);
    dh_done(2);
    pthread_join(sender, 0);
    pthread_join(first, 0);
    pthread_join(second, 0);
    return 0;
}
