// What a thread does after it has destroyed a fiber is seen like what it did before.
#include <pthread.h>
#include "../order.h"

void *__tsan_create_fiber(unsigned flags);
void __tsan_destroy_fiber(void *fiber);

int value;

static void *writes(void *unused) {
    dh_step(0);
    value = 1; //~ race 1: write
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, writes, 0);
    void *fiber = __tsan_create_fiber(0);
    __tsan_destroy_fiber(fiber);
    dh_use(value); //~ race 1: read
    dh_done(0);
    pthread_join(thread, 0);
    return 0;
}
