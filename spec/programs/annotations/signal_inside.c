// What a program's own condition variable does as it is signalled is its own business.
#include <pthread.h>
#include "../order.h"

void __tsan_mutex_pre_signal(void *condition, unsigned flags);
void __tsan_mutex_post_signal(void *condition, unsigned flags);

int condition, inside;

static void *signals(void *nothing) {
    dh_step(0);
    __tsan_mutex_pre_signal(&condition, 0);
    __tsan_mutex_post_signal(&condition, 0);
    inside = 2; //~ race 1: write
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, signals, 0);
    __tsan_mutex_pre_signal(&condition, 0);
    __tsan_mutex_post_signal(&condition, 0);
    inside = 1; //~ race 1: write
    dh_done(0);
    pthread_join(thread, 0);
    return 0;
}
