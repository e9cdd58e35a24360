// Sixty-four threads create a thread at a time each and join it: nothing races, however the C library gives the names of joined threads
// to new ones.
//
// `joins [CHILDREN]`: how many each creates.
#include <pthread.h>
#include <stdlib.h>

#define CREATORS 64

static int children = 50;

// Writes where its creator reads, and gives it memory to free.
static void *pass(void *argument) {
    long *numbers = argument;
    numbers[1] = numbers[0] + 1;
    return calloc(1, 24);
}

static void *create(void *argument) {
    long number = (long)argument;
    for (int i = 0; i < children; i++) {
        pthread_t child;
        long numbers[2] = {number, 0};
        void *result;
        if (pthread_create(&child, 0, pass, numbers))
            abort();
        pthread_join(child, &result);
        if (numbers[1] != number + 1)
            abort();
        free(result);
    }
    return 0;
}

int main(int count, char **arguments) {
    pthread_t creators[CREATORS];
    if (count > 1)
        children = atoi(arguments[1]);
    for (long i = 0; i < CREATORS; i++)
        if (pthread_create(&creators[i], 0, create, (void *)i))
            abort();
    for (int i = 0; i < CREATORS; i++)
        pthread_join(creators[i], 0);
    return 0;
}
