// thrd_exit ends a C11 thread as returning does, and thrd_detach gives up the only order after it.
#include <threads.h>
#include "../order.h"

int value;

static int writer(void *nothing) {
    (void)nothing;
    value = 1;
    dh_leave(1);
    thrd_exit(0);
}

int main(void) {
    thrd_t thread;
    thrd_create(&thread, writer, 0);
    thrd_join(thread, 0);
    dh_gone(1);
    dh_use(value);
    return 0;
}
