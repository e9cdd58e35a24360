// An atomic object of a size that the processor has no instructions for orders as others do, and a plain access races with it.
//! flags: -latomic
#include <pthread.h>
#include "../order.h"

typedef struct { unsigned char byte[3]; } three;
typedef struct { unsigned char byte[5]; } five;
typedef struct { unsigned char byte[7]; } seven;
typedef struct { float part[3]; } point;
typedef struct { long part[3]; } large;

three loaded, unordered;
five exchanged;
seven expected;
point floats;
large longs;
int values[5];

static void *worker(void *nothing) {
    three three = {{1}};
    five five = {{1}};
    seven seven = {{1}};
    point point = {{1}};
    large large = {{1}};
    for (int i = 0; i < 5; i++)
        values[i] = 1;
    __atomic_store(&loaded, &three, __ATOMIC_RELEASE);
    __atomic_store(&exchanged, &five, __ATOMIC_RELEASE);
    __atomic_store(&expected, &seven, __ATOMIC_RELEASE);
    __atomic_store(&floats, &point, __ATOMIC_RELEASE);
    __atomic_store(&longs, &large, __ATOMIC_RELEASE);
    __atomic_store(&unordered, &three, __ATOMIC_RELAXED); //~ race 1: atomic write
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    three three;
    five five = {{2}};
    seven seven = {{2}}, other = {{3}};
    point point;
    large large;
    pthread_create(&thread, 0, worker, 0);
    dh_step(1);
    dh_use(unordered.byte[0]); //~ race 1: read
    __atomic_load(&loaded, &three, __ATOMIC_ACQUIRE);
    if (three.byte[0] == 1)
        dh_use(values[0]);
    __atomic_exchange(&exchanged, &five, &five, __ATOMIC_ACQUIRE);
    if (five.byte[0] == 1)
        dh_use(values[1]);
    if (!__atomic_compare_exchange(&expected, &seven, &other, 0, __ATOMIC_RELAXED, __ATOMIC_ACQUIRE) && seven.byte[0] == 1)
        dh_use(values[2]);
    __atomic_load(&floats, &point, __ATOMIC_ACQUIRE);
    if (point.part[0] == 1) {
        dh_use(values[3]);
        floats.part[2] = 2;
    }
    __atomic_load(&longs, &large, __ATOMIC_ACQUIRE);
    if (large.part[0] == 1)
        dh_use(values[4]);
    pthread_join(thread, 0);
    return 0;
}
