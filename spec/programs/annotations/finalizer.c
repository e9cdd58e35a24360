// What any thread did happened before the finalizer of what nobody uses any more; what is done later did not.
#include <pthread.h>
#include "../order.h"

void __tsan_java_finalize(void);

int value;

static void *finalizer(void *nothing) {
    __tsan_java_finalize();
    dh_done(1);
    dh_step(2);
    dh_use(value); //~ race 1: read
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, finalizer, 0);
    dh_step(1);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    value = 1; //~ race 1: write
    dh_done(2);
    pthread_join(thread, 0);
    return 0;
}
