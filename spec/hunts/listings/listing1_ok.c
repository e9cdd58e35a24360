// A lockset check misses this race if t1 comes first: t2 then takes the branch that locks.
#include <pthread.h>

int a, b;
pthread_mutex_t ma = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t mb = PTHREAD_MUTEX_INITIALIZER;

static void *t1(void *nothing) {
    pthread_mutex_lock(&ma);
    a = 1;
    pthread_mutex_unlock(&ma);
    pthread_mutex_lock(&mb);
    b = 1;
    pthread_mutex_unlock(&mb);
    return nothing;
}

static void *t2(void *nothing) {
    pthread_mutex_lock(&mb);
    if (b == 1) {
        pthread_mutex_unlock(&mb);
        pthread_mutex_lock(&ma);
        a = 2;
        pthread_mutex_unlock(&ma);
    } else {
        pthread_mutex_unlock(&mb);
        pthread_mutex_lock(&ma);
        a = 3;
        pthread_mutex_unlock(&ma);
    }
    return nothing;
}

int main(void) {
    pthread_t first, second;
    pthread_create(&first, 0, t1, 0);
    pthread_create(&second, 0, t2, 0);
    pthread_join(first, 0);
    pthread_join(second, 0);
    return 0;
}
