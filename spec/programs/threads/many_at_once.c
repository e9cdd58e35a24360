// A hundred threads at once write to neighbouring elements; only the one read too early races.
#include <pthread.h>
#include "../order.h"

enum { COUNT = 100 };

char slots[COUNT];

static void *writer(void *slot) {
    *(char *)slot = 1; //~ race 1: write
    if (slot == &slots[COUNT - 1])
        dh_done(1);
    return 0;
}

int main(void) {
    pthread_t threads[COUNT];
    for (int i = 0; i < COUNT; i++)
        pthread_create(&threads[i], 0, writer, &slots[i]);
    dh_step(1);
    dh_use(slots[COUNT - 1]); //~ race 1: read
    for (int i = 0; i < COUNT; i++)
        pthread_join(threads[i], 0);
    return 0;
}
