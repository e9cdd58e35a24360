// Two bit-fields of one unit race, as each is written by writing the unit; a zero width parts them.
#include <pthread.h>
#include "../order.h"

struct {
    unsigned char one : 4;
    unsigned char other : 4;
} flags;

static void *writer(void *nothing) {
    flags.one = 1; //~ race 1: write
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, writer, 0);
    dh_step(1);
    flags.other = 1; //~ race 1: write
    pthread_join(thread, 0);
    return 0;
}
