// The destructor of a thread-specific value runs in the thread that ends, before it can be joined.
#include <pthread.h>
#include "../order.h"

int value;
pthread_key_t key;

static void destroy(void *nothing) {
    (void)nothing;
    value = 1;
    dh_done(1);
}

static void *owner(void *nothing) {
    pthread_setspecific(key, &key);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_key_create(&key, destroy);
    pthread_create(&thread, 0, owner, 0);
    dh_step(1);
    pthread_join(thread, 0);
    dh_use(value);
    return 0;
}
