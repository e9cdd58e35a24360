// A thread that was created detached is never joined either.
#include <pthread.h>
#include "../order.h"

int value;

static void *writer(void *nothing) {
    value = 1;
    dh_leave(1);
    return nothing;
}

int main(void) {
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_JOINABLE);
    pthread_create(&thread, &attributes, writer, 0);
    pthread_join(thread, 0);
    dh_gone(1);
    dh_use(value);
    return 0;
}
