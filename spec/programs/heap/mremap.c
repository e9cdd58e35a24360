// A mapping that grows where it is, or fails to, keeps its past and is not touched by that.
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/mman.h>
#include "../order.h"

enum { PAGE = 4096 };

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
char *map;

static void *grows(void *nothing) {
    dh_step(0);
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    mremap(map, PAGE, 1L << 46, 0);
    mremap(map, PAGE, 2 * PAGE, 0);
    dh_done(1);
    return nothing;
}

static void *reads(void *nothing) {
    dh_step(1);
    dh_use(map[0]); //~ race 1: read
    return nothing;
}

int main(void) {
    pthread_t first, second;
    map = mmap(0, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(map + PAGE, PAGE);
    pthread_create(&first, 0, grows, 0);
    pthread_create(&second, 0, reads, 0);
    map[0] = 1; //~ race 1: write
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    dh_done(0);
    pthread_join(first, 0);
    pthread_join(second, 0);
    return 0;
}
