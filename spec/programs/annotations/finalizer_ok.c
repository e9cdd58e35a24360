// What any thread did happened before the finalizer of what nobody uses any more; what is done later did not.
#include <pthread.h>
#include "../order.h"

void __tsan_java_finalize(void);

int value;

static void *finalizer(void *nothing) {
    dh_step(2);
    __tsan_java_finalize();
    dh_use(value);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, finalizer, 0);
    value = 1;
    dh_done(2);
    pthread_join(thread, 0);
    return 0;
}
