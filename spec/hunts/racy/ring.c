// A ring between two threads whose indices are plain: each reads the index that the other moves.
#include <pthread.h>
#include "../hunt.h"

#define SIZE 8

int ring[SIZE] = {1, 2};
unsigned head, tail = 2;

static void *producer(void *nothing) {
    for (int i = 0; i < 2; i++) {
        unsigned end = tail;
        if (end - head < SIZE) { //~ race 1: read
            ring[end % SIZE] = i;
            APART();
            tail = end + 1; //~ race 2: write
        }
    }
    return nothing;
}

static void *consumer(void *nothing) {
    for (int i = 0; i < 2; i++) {
        unsigned start = head;
        if (start != tail) { //~ race 2: read
            USE(ring[start % SIZE]);
            head = start + 1; //~ race 1: write
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
