// C11's call_once orders as pthread_once does.
#include <threads.h>
#include "../order.h"

int value;
once_flag once = ONCE_FLAG_INIT;

static void initialise(void) {
    value = 1;
}

static int first(void *nothing) {
    (void)nothing;
    call_once(&once, initialise);
    dh_done(1);
    return 0;
}

int main(void) {
    thrd_t thread;
    thrd_create(&thread, first, 0);
    dh_step(1);
    call_once(&once, initialise);
    dh_use(value);
    thrd_join(thread, 0);
    return 0;
}
