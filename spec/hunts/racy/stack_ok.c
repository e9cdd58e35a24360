// A hand-made stack loses a push: the old top is read, and another thread pushes before the new one is set.
#include <pthread.h>
#include "../hunt.h"

struct node { struct node *below; int value; };
struct node nodes[2];
struct node *top;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *push(void *argument) {
    struct node *node = argument;
    node->value = 1;
    pthread_mutex_lock(&mutex);
    node->below = top;
    APART();
    top = node;
    pthread_mutex_unlock(&mutex);
    return 0;
}

int main(void) {
    pthread_t threads[2];
    int sum = 0;
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, push, &nodes[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    for (struct node *node = top; node; node = node->below)
        sum += node->value;
    return sum > 2;
}
