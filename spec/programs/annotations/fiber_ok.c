// A switch of fibers orders them, unless the switch was told not to.
#include <pthread.h>
#include "../order.h"

void *__tsan_get_current_fiber(void);
void *__tsan_create_fiber(unsigned flags);
void __tsan_destroy_fiber(void *fiber);
void __tsan_switch_to_fiber(void *fiber, unsigned flags);

enum { ORDERED = 0 };

int value;

int main(void) {
    void *first = __tsan_get_current_fiber();
    void *second = __tsan_create_fiber(0);
    value = 1;
    __tsan_switch_to_fiber(second, ORDERED);
    value = 2;
    __tsan_switch_to_fiber(first, 0);
    __tsan_destroy_fiber(second);
    return 0;
}
