// Happens-before misses this race if t1 comes first: the load of b then acquires its store.
#include <pthread.h>
#include <stdatomic.h>

int a;
atomic_int b = 0;
atomic_int c = 2;

static void *t1(void *nothing) {
    a = 1; //~ race 1: write
    b = 1;
    return nothing;
}

static void *t2(void *nothing) {
    if (b != c)
        a = 2; //~ race 1: write
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
