// A thread that ticks by sleeping, and one that looks at the ticks now and then.
#include <pthread.h>
#include <time.h>
#include <stdatomic.h>
#include "../hunt.h"

atomic_uint ticks;

static void pause_shortly(void) {
    struct timespec millisecond = {0, 1000000};
    nanosleep(&millisecond, 0);
}

static void *timer(void *nothing) {
    for (unsigned i = 1; i <= 4; i++) {
        pause_shortly();
        ticks = i;
    }
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, timer, 0);
    for (int i = 0; i < 4; i++) {
        USE(ticks);
        pause_shortly();
    }
    pthread_join(thread, 0);
    return 0;
}
