// Who takes from a System V semaphore comes after what was done before it was given.
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include "../order.h"

int value, set;

static void *worker(void *nothing) {
    struct sembuf take = {.sem_num = 1, .sem_op = -1};
    if (semop(set, &take, 1) != 0)
        return nothing;
    dh_step(1);
    dh_use(value);
    return nothing;
}

int main(void) {
    pthread_t thread;
    set = semget(IPC_PRIVATE, 2, 0600);
    if (set < 0)
        return 1;
    pthread_create(&thread, 0, worker, 0);
    value = 1;
    struct sembuf give = {.sem_num = 1, .sem_op = 1};
    semop(set, &give, 1);
    dh_done(1);
    pthread_join(thread, 0);
    semctl(set, 0, IPC_RMID);
    return 0;
}
