// A mapping is memory, and to unmap it is to write to all of it.
//! location 1: mapping
#include <pthread.h>
#include <sys/mman.h>
#include "../order.h"

enum { SIZE = 1 << 16 };

static void *worker(void *pages) {
    ((char *)pages)[100] = 1;
    dh_use(((char *)pages)[SIZE - 1]);
    dh_done(1);
    return pages;
}

int main(void) {
    pthread_t thread;
    char *pages = mmap(0, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_create(&thread, 0, worker, pages);
    dh_step(1);
    pthread_join(thread, 0);
    dh_use(pages[100]);
    munmap(pages + SIZE - 4096, 4096);
    munmap(pages, SIZE - 4096);
    return 0;
}
