// What a thread did before it was joined is in order for the joiner, and for nobody else.
//! told by hb: 2
//! told by sync-preserving: 1, 2
//! told by sync-reversal: 1, 2
//! told by shb: 2
//! told by csp: 1, 2
#include <pthread.h>

int result, line;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
pthread_t first;

static void *one(void *nothing) {
    result = 1; //~ race 1: write
    pthread_mutex_lock(&m);
    line = 1;
    pthread_mutex_unlock(&m);
    return nothing;
}

static void *two(void *nothing) {
    pthread_mutex_lock(&m);
    line = 2;
    pthread_mutex_unlock(&m);
    return result ? &result : nothing; //~ race 1: read, race 2: read
}

int main(void) {
    pthread_t second;
    pthread_create(&first, 0, one, 0);
    pthread_create(&second, 0, two, 0);
    pthread_join(first, 0);
    result = 2; //~ race 2: write
    pthread_join(second, 0);
    return 0;
}
