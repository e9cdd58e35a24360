// A read lock lets others in who hold a read lock too: what is written under it races.
#include <pthread.h>
#include "../hunt.h"

int hits;
pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

WHOLE static int next(int number) {
    return number + 1;
}

static void *look_up(void *nothing) {
    pthread_rwlock_wrlock(&lock);
    hits = next(hits);
    pthread_rwlock_unlock(&lock);
    return nothing;
}

int main(void) {
    pthread_t one, other;
    pthread_create(&one, 0, look_up, 0);
    pthread_create(&other, 0, look_up, 0);
    pthread_join(one, 0);
    pthread_join(other, 0);
    return 0;
}
