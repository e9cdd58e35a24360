// Sending takes the lock too late: it has read one of the port's variables before.
#include <pthread.h>
#include <string.h>
#include "../hunt.h"

struct { pthread_mutex_t lock; pthread_cond_t arrived; unsigned length; int waiting; char text[32]; } port = {
    .lock = PTHREAD_MUTEX_INITIALIZER, .arrived = PTHREAD_COND_INITIALIZER};

WHOLE static int send_message(const char *text, unsigned length) {
    int awaited = port.waiting; //~ race 1: read
    pthread_mutex_lock(&port.lock);
    memcpy(port.text, text, length);
    port.length = length;
    pthread_cond_signal(&port.arrived);
    pthread_mutex_unlock(&port.lock);
    return awaited;
}

WHOLE static void receive_message(char *text) {
    pthread_mutex_lock(&port.lock);
    port.waiting = 1; //~ race 1: write
    while (!port.length)
        pthread_cond_wait(&port.arrived, &port.lock);
    memcpy(text, port.text, port.length);
    port.waiting = 0;
    pthread_mutex_unlock(&port.lock);
}

static void *sender(void *nothing) {
    USE(send_message("ready", sizeof "ready"));
    return nothing;
}

static void *receiver(void *nothing) {
    char text[32];
    receive_message(text);
    USE(text[0]);
    return nothing;
}

int main(void) {
    pthread_t one, other;
    pthread_create(&one, 0, sender, 0);
    pthread_create(&other, 0, receiver, 0);
    pthread_join(one, 0);
    pthread_join(other, 0);
    return 0;
}
