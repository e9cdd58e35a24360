// A join passes on what the joined thread knew: the writes of its own child only if it joined that.
#include <pthread.h>
#include "../order.h"

int value;

static void *grandchild(void *nothing) {
    value = 1;
    dh_leave(1);
    return nothing;
}

static void *child(void *nothing) {
    pthread_t thread;
    pthread_create(&thread, 0, grandchild, 0);
    pthread_join(thread, 0);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, child, 0);
    pthread_join(thread, 0);
    dh_gone(1);
    dh_use(value);
    return 0;
}
