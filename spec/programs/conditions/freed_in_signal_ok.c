// Who is woken may run while the signal's call still looks at the condition variable, unless the mutex is held.
#include <pthread.h>
#include <stdlib.h>
#include "../order.h"

struct event {
    pthread_mutex_t mutex;
    pthread_cond_t condition;
    int set;
};

static void *setter(void *argument) {
    struct event *event = argument;
    dh_step(1);
    pthread_mutex_lock(&event->mutex);
    event->set = 1;
    pthread_cond_signal(&event->condition);
    pthread_mutex_unlock(&event->mutex);
    dh_done(2);
    return 0;
}

int main(void) {
    pthread_t thread;
    struct event *event = malloc(sizeof *event);
    pthread_mutex_init(&event->mutex, 0);
    pthread_cond_init(&event->condition, 0);
    event->set = 0;
    pthread_create(&thread, 0, setter, event);
    pthread_mutex_lock(&event->mutex);
    dh_done(1);
    while (!event->set)
        pthread_cond_wait(&event->condition, &event->mutex);
    pthread_mutex_unlock(&event->mutex);
    dh_step(2);
    free(event);
    pthread_join(thread, 0);
    return 0;
}
