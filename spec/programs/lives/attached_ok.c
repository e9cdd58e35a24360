// A segment of shared memory has no past where it is attached, whatever was there before.
#include <pthread.h>
#include <stdlib.h>
#include <sys/ipc.h>
#include <sys/shm.h>
#include "../order.h"

enum { SIZE = 1 << 16 };
// Where nothing else is.
#define PLACE ((void *)0x200000000000)

static int *attach(void *place) {
    int segment = shmget(IPC_PRIVATE, SIZE, IPC_CREAT | 0600);
    int *memory = shmat(segment, place, 0);
    shmctl(segment, IPC_RMID, 0);
    if (memory == (void *)-1)
        abort();
    return memory;
}

static void *first(void *nothing) {
    int *own = attach(PLACE);
    *own = 1;
    shmdt(own);
    dh_done(1);
    return nothing;
}

static void *second(void *nothing) {
    dh_step(1);
    int *own = attach(PLACE);
    *own = 2;
    shmdt(own);
    return nothing;
}

int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], 0, first, 0);
    pthread_create(&threads[1], 0, second, 0);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    return 0;
}
