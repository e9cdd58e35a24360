// A mapping that grows where it is, or fails to, keeps its past and is not touched by that.
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/mman.h>
#include "../order.h"

enum { PAGE = 4096 };

char *map;

static void *grows(void *nothing) {
    dh_step(0);
    if (mremap(map, PAGE, 1L << 46, 0) != MAP_FAILED)
        return nothing;
    if (mremap(map, PAGE, 2 * PAGE, 0) == map)
        map[PAGE] = 1;
    return nothing;
}

int main(void) {
    pthread_t thread;
    map = mmap(0, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(map + PAGE, PAGE);
    pthread_create(&thread, 0, grows, 0);
    map[0] = 1;
    dh_done(0);
    pthread_join(thread, 0);
    munmap(map, PAGE);
    return 0;
}
