// What constructors do before main is watched, threads of theirs included.
#include <pthread.h>
#include "../order.h"

int value;
pthread_t thread;

static void *writer(void *nothing) {
    value = 1;
    dh_done(1);
    return nothing;
}

__attribute__((constructor)) static void start(void) {
    pthread_create(&thread, 0, writer, 0);
    dh_step(1);
    pthread_join(thread, 0);
    dh_use(value);
}

int main(void) {
    return 0;
}
