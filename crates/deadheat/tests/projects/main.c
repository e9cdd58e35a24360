// Two threads use the store; their order is fixed, but nothing orders them.
#include <pthread.h>
#include <stdio.h>
#include "order.h"
#include "store.h"

static void *worker(void *nothing) {
    store_put(1);
    done();
    return nothing;
}

int main(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, worker, NULL))
        return 1;
    wait_until_done();
    int size = store_size();
    pthread_join(thread, NULL);
    printf("%d\n", size);
    return size == 1 ? 0 : 2;
}
