// A list is walked without the lock under which it grows: the head meets, the new node's fields cannot.
#include <pthread.h>
#include "../hunt.h"

struct node { struct node *next; int value; };
struct node last = {0, 1}, fresh;
struct node *head = &last;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *insert(void *nothing) {
    pthread_mutex_lock(&mutex);
    fresh.value = 2;
    fresh.next = head;
    APART();
    head = &fresh;
    pthread_mutex_unlock(&mutex);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, insert, 0);
    pthread_mutex_lock(&mutex);
    struct node *node = head;
    USE(node);
    while (node) {
        USE(node->value);
        node = node->next;
        USE(node);
    }
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, 0);
    return 0;
}
