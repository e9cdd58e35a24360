// Functions called through a table: two of the three write the same variable.
#include <pthread.h>
#include "../hunt.h"

int speed, colour;

static void faster(void) {
    speed = 2;
}

static void slower(void) {
}

static void paint(void) {
    colour = 3;
}

void (*const actions[3])(void) = {faster, slower, paint};
int first[2] = {2, 0}, second[2] = {1, 1};

static void *worker(void *argument) {
    const int *numbers = argument;
    for (int i = 0; i < 2; i++)
        actions[numbers[i]]();
    return 0;
}

int main(void) {
    pthread_t one, other;
    pthread_create(&one, 0, worker, first);
    pthread_create(&other, 0, worker, second);
    pthread_join(one, 0);
    pthread_join(other, 0);
    return 0;
}
