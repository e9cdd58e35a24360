// A ring between two threads whose indices are plain: each reads the index that the other moves.
#include <pthread.h>
#include <stdatomic.h>
#include "../hunt.h"

#define SIZE 8

int ring[SIZE] = {1, 2};
atomic_uint head, tail = 2;

static void *producer(void *nothing) {
    for (int i = 0; i < 2; i++) {
        unsigned end = tail;
        if (end - head < SIZE) {
            ring[end % SIZE] = i;
            APART();
            tail = end + 1;
        }
    }
    return nothing;
}

static void *consumer(void *nothing) {
    for (int i = 0; i < 2; i++) {
        unsigned start = head;
        if (start != tail) {
            USE(ring[start % SIZE]);
            head = start + 1;
        }
    }
    return nothing;
}

int main(void) {
    pthread_t one, other;
    pthread_create(&one, 0, producer, 0);
    pthread_create(&other, 0, consumer, 0);
    pthread_join(one, 0);
    pthread_join(other, 0);
    return 0;
}
