// Who waits for a System V semaphore to be nothing comes after what was done before it was taken from.
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <time.h>
#include "../order.h"

int value, set;

static void *worker(void *nothing) {
    struct sembuf none = {.sem_num = 1, .sem_op = 0};
    struct timespec most = {.tv_sec = 1000};
    if (semtimedop(set, &none, 1, &most) != 0)
        return nothing;
    dh_step(1);
    dh_use(value); //~ race 1: read
    return nothing;
}

int main(void) {
    pthread_t thread;
    set = semget(IPC_PRIVATE, 2, 0600);
    if (set < 0)
        return 1;
    struct sembuf give = {.sem_num = 1, .sem_op = 1};
    semop(set, &give, 1);
    pthread_create(&thread, 0, worker, 0);
    struct sembuf take = {.sem_num = 1, .sem_op = -1};
    semop(set, &take, 1);
    value = 1; //~ race 1: write
    dh_done(1);
    pthread_join(thread, 0);
    semctl(set, 0, IPC_RMID);
    return 0;
}
