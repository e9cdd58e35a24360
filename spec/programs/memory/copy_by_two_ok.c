// A buffer that two copy as a whole is read by each of them.
#include <pthread.h>
#include <string.h>
#include "../order.h"

char from[5000], to[2][5000];
unsigned long size = 5000;

static void *copier(void *which) {
    long mine = (long)which;
    memcpy(to[mine], from, size);
    dh_done((int)mine + 1);
    return 0;
}

int main(void) {
    pthread_t threads[2];
    memset(from, 1, size);
    pthread_create(&threads[0], 0, copier, (void *)0);
    dh_step(1);
    pthread_create(&threads[1], 0, copier, (void *)1);
    dh_step(2);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    from[3000] = 2;
    return 0;
}
