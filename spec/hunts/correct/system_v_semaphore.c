// A System V semaphore is a lock around a plain counter.
#include <pthread.h>
#include <sys/ipc.h>
#include <sys/sem.h>

int counter, semaphore;

static int change(short by) {
    struct sembuf operation = {.sem_num = 0, .sem_op = by, .sem_flg = 0};
    return semop(semaphore, &operation, 1);
}

static void *worker(void *nothing) {
    for (int i = 0; i < 3; i++) {
        if (change(-1))
            return nothing;
        counter = counter + 1;
        change(1);
    }
    return nothing;
}

int main(void) {
    pthread_t one, other;
    semaphore = semget(IPC_PRIVATE, 1, IPC_CREAT | 0600);
    if (semaphore < 0 || change(1))
        return 1;
    pthread_create(&one, 0, worker, 0);
    pthread_create(&other, 0, worker, 0);
    pthread_join(one, 0);
    pthread_join(other, 0);
    semctl(semaphore, 0, IPC_RMID);
    return counter == 6 ? 0 : 1;
}
