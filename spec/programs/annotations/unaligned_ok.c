// The sanitizers' functions for unaligned accesses are accesses.
#include <pthread.h>
#include "../order.h"

void __sanitizer_unaligned_store32(void *to, unsigned value);

char bytes[16];

static void *writer(void *nothing) {
    __sanitizer_unaligned_store32(bytes + 6, 1);
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, writer, 0);
    dh_step(1);
    dh_use(bytes[10]);
    pthread_join(thread, 0);
    return 0;
}
