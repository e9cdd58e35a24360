// To have cancelled a thread orders nothing of what its cleanup handlers do; to join it does.
#include <pthread.h>
#include <unistd.h>
#include "../order.h"

int value;

static void clean_up(void *nothing) {
    (void)nothing;
    value = 1;
    dh_done(2);
}

static void *sleeper(void *nothing) {
    pthread_cleanup_push(clean_up, nothing);
    dh_done(1);
    for (;;)
        pause();
    pthread_cleanup_pop(0);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, sleeper, 0);
    dh_step(1);
    pthread_cancel(thread);
    dh_step(2);
    pthread_join(thread, 0);
    dh_use(value);
    return 0;
}
