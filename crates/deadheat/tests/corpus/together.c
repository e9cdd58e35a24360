// A thread begins, and its creator asks whether it has (`asks`), waits for that in a way that is not seen (`waits`), waits for
// it by a semaphore (`blocks`), gives back a lock before it creates another and waits for that in a way that is not seen (`unlocks`), or takes a lock, then waits
// for it in such a way (`locks`), also one of its own making (`exchanges`).
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "../../../../spec/programs/order.h"

static sem_t begun;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int count, own_lock;

static void *worker(void *argument) {
    dh_done(1);
    sem_post(&begun);
    return argument;
}

DH_HIDDEN int has_begun(void) {
    int reached;
    DH_LOAD(reached, dh_reached[1]);
    return reached;
}

int main(int argc, char **argv) {
    pthread_t threads[2];
    const char *way = argv[argc - 1];
    sem_init(&begun, 0, 0);
    pthread_create(&threads[0], 0, worker, 0);
    if (!strcmp(way, "asks")) {
        usleep(100000);
        printf("begun: %d\n", has_begun());
    } else if (!strcmp(way, "waits")) {
        dh_step(1);
    } else if (!strcmp(way, "unlocks")) {
        pthread_mutex_lock(&mutex);
        count++;
        pthread_mutex_unlock(&mutex);
    } else if (!strcmp(way, "locks")) {
        pthread_mutex_lock(&mutex);
        dh_step(1);
        pthread_mutex_unlock(&mutex);
    } else if (!strcmp(way, "exchanges")) {
        __atomic_exchange_n(&own_lock, 1, __ATOMIC_ACQUIRE);
        dh_step(1);
    } else {
        sem_wait(&begun);
    }
    pthread_create(&threads[1], 0, worker, 0);
    if (!strcmp(way, "unlocks"))
        dh_step(1);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    puts("ended");
    return 0;
}
