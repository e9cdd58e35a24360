// Two fibers, the second in the memory of the first, which is gone by then: what was known to who switched to the first the second does not know.
#include "../../../../spec/programs/order.h"
#include <pthread.h>

void *__tsan_get_current_fiber(void);
void *__tsan_create_fiber(unsigned flags);
void __tsan_destroy_fiber(void *fiber);
void __tsan_switch_to_fiber(void *fiber, unsigned flags);
void __tsan_set_fiber_name(void *fiber, const char *name);

int shared;

// Writes, and lets another fiber of its own know.
static void *other(void *nothing) {
    void *own = __tsan_get_current_fiber(), *fiber = __tsan_create_fiber(0);
    shared = 1;
    __tsan_switch_to_fiber(fiber, 0);
    __tsan_switch_to_fiber(own, 0);
    __tsan_destroy_fiber(fiber);
    dh_done(1);
    dh_step(2);
    return nothing;
}

int main(void) {
    pthread_t thread;
    void *own = __tsan_get_current_fiber();
    pthread_create(&thread, 0, other, 0);
    dh_step(1);
    void *fiber = __tsan_create_fiber(0);
    __tsan_set_fiber_name(fiber, "reader");
    __tsan_switch_to_fiber(fiber, 0);
    dh_use(shared);
    __tsan_switch_to_fiber(own, 0);
    dh_done(2);
    pthread_join(thread, 0);
    return 0;
}
