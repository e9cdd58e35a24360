// Who takes a box out of a queue has it for himself; the queue alone is locked.
//! told by hb: none
//! told by sync-preserving: none
//! told by sync-reversal: none
//! told by shb: none
//! told by csp: none
#include <pthread.h>

struct box {
    int value;
};

struct box *queue;
struct box only;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

static void *one(void *nothing) {
    only.value = 1;
    pthread_mutex_lock(&m);
    queue = &only;
    pthread_mutex_unlock(&m);
    return nothing;
}

static void *two(void *nothing) {
    pthread_mutex_lock(&m);
    struct box *mine = queue;
    queue = 0;
    pthread_mutex_unlock(&m);
    if (mine) mine->value = 2;
    return nothing;
}

int main(void) {
    pthread_t first, second;
    pthread_create(&first, 0, one, 0);
    pthread_create(&second, 0, two, 0);
    pthread_join(first, 0);
    pthread_join(second, 0);
    return 0;
}
