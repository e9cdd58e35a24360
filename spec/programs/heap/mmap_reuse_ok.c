// Pages mapped where others were unmapped have no past: only the global races.
#include <pthread.h>
#include <sys/mman.h>
#include "../order.h"

enum { SIZE = 1 << 16 };

int value;

static void *first(void *pages) {
    *(char *)pages = 1;
    munmap(pages, SIZE);
    value = 1;
    dh_done(1);
    return 0;
}

int main(void) {
    pthread_t thread;
    char *pages = mmap(0, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_create(&thread, 0, first, pages);
    dh_step(1);
    pthread_join(thread, 0);
    char *again = mmap(pages, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *again = 2;
    value = 2;
    munmap(again, SIZE);
    return 0;
}
