// A plain count of references: two threads that let go at once can both think that the other still holds on.
#include <pthread.h>
#include <stdlib.h>
#include "../hunt.h"

struct object { int references; } *object;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

WHOLE static int less(int number) {
    return number - 1;
}

static void *let_go(void *nothing) {
    pthread_mutex_lock(&mutex);
    int left = less(object->references);
    object->references = left;
    pthread_mutex_unlock(&mutex);
    if (left == 0)
        free(object);
    return nothing;
}

int main(void) {
    pthread_t one, other;
    object = malloc(sizeof *object);
    if (!object)
        return 1;
    object->references = 2;
    pthread_create(&one, 0, let_go, 0);
    pthread_create(&other, 0, let_go, 0);
    pthread_join(one, 0);
    pthread_join(other, 0);
    return 0;
}
