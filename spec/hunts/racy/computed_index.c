// Two keys fall into one slot of a table: only their puts race.
#include <pthread.h>
#include "../hunt.h"

int slots[4];

WHOLE static void put(int key) {
    slots[key % 4] = key; //~ race 1: write, race 1: write
}

static void *putter(void *argument) {
    const int *keys = argument;
    put(keys[0]);
    put(keys[1]);
    return 0;
}

int main(void) {
    pthread_t one, other;
    int first[2] = {4, 1}, second[2] = {7, 5};
    pthread_create(&one, 0, putter, first);
    pthread_create(&other, 0, putter, second);
    pthread_join(one, 0);
    pthread_join(other, 0);
    return 0;
}
