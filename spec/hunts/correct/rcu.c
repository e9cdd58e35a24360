// Read, copy, update by hand: the old block is overwritten only when no reader can still be in it.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include "../hunt.h"

struct block { int number, twice; };
struct block blocks[2] = {{1, 2}, {0, 0}};
_Atomic(struct block *) current = &blocks[0];
atomic_int reading[2];

static void *reader(void *argument) {
    atomic_int *mine = argument;
    for (int i = 0; i < 3; i++) {
        atomic_store(mine, 1);
        struct block *block = atomic_load(&current);
        USE(block->twice - block->number);
        atomic_store(mine, 0);
    }
    return 0;
}

int main(void) {
    pthread_t threads[2];
    struct block *spare = &blocks[1];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, reader, &reading[i]);
    for (int i = 2; i < 5; i++) {
        spare->number = i;
        spare->twice = 2 * i;
        spare = atomic_exchange(&current, spare);
        for (int j = 0; j < 2; j++)
            while (atomic_load(&reading[j]))
                sched_yield();
    }
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    return 0;
}
