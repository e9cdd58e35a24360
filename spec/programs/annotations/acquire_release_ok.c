// __tsan_release and __tsan_acquire announce an order of the program's own making.
#include <pthread.h>
#include "../order.h"

void __tsan_acquire(void *object);
void __tsan_release(void *object);

int value, token;

static void *writer(void *nothing) {
    value = 1;
    __tsan_release(&token);
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, writer, 0);
    dh_step(1);
    __tsan_acquire(&token);
    dh_use(value);
    pthread_join(thread, 0);
    return 0;
}
