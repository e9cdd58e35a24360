// A compare-exchange that would succeed against a plain write.
#include <pthread.h>
#include "../hunt.h"

int state;

static void *taker(void *nothing) {
    int idle = 0;
    USE(__atomic_compare_exchange_n(&state, &idle, 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, taker, 0);
    __atomic_store_n(&state, 0, __ATOMIC_SEQ_CST);
    pthread_join(thread, 0);
    return 0;
}
