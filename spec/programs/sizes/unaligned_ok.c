// An unaligned access over the border of two words touches exactly its own bytes.
#include <pthread.h>
#include "../order.h"

struct __attribute__((packed)) { char first[6]; int middle; char last[6]; } packed;

static void *writer(void *nothing) {
    packed.middle = 1;
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    char *bytes = (char *)&packed;
    pthread_create(&thread, 0, writer, 0);
    dh_step(1);
    dh_use(bytes[5]);
    dh_use(bytes[10]);
    pthread_join(thread, 0);
    dh_use(bytes[9]);
    return 0;
}
