// Different fields of one structure do not race, the same field does.
#include <pthread.h>
#include "../order.h"

struct { short one, other; int third; } record;

static void *writer(void *nothing) {
    record.other = 1;
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, writer, 0);
    dh_step(1);
    record.one = 1;
    record.third = 1;
    pthread_join(thread, 0);
    record.other = 1;
    return 0;
}
