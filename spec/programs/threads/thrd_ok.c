// C11's thrd_create and thrd_join order as pthread's do.
#include <threads.h>
#include "../order.h"

int before, value;

static int writer(void *nothing) {
    (void)nothing;
    dh_use(before);
    value = 1;
    dh_done(1);
    return 3;
}

int main(void) {
    thrd_t thread;
    int result = 0;
    before = 1;
    thrd_create(&thread, writer, 0);
    dh_step(1);
    thrd_join(thread, &result);
    dh_use(value);
    return result == 3 ? 0 : 1;
}
