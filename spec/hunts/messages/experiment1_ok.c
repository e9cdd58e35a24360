// Sending writes a plain variable that receiving reads, both without mutual exclusion.
#include <pthread.h>
#include <string.h>
#include "../hunt.h"

struct { pthread_mutex_t lock; pthread_cond_t arrived; unsigned length; char text[32]; } port = {
    .lock = PTHREAD_MUTEX_INITIALIZER, .arrived = PTHREAD_COND_INITIALIZER};
int last_length;

WHOLE static void send_message(const char *text, unsigned length) {
    pthread_mutex_lock(&port.lock);
    last_length = (int)length;
    memcpy(port.text, text, length);
    port.length = length;
    pthread_cond_signal(&port.arrived);
    pthread_mutex_unlock(&port.lock);
}

WHOLE static void receive_message(char *text) {
    pthread_mutex_lock(&port.lock);
    USE(last_length);
    while (!port.length)
        pthread_cond_wait(&port.arrived, &port.lock);
    memcpy(text, port.text, port.length);
    port.length = 0;
    pthread_mutex_unlock(&port.lock);
}

static void *sender(void *nothing) {
    send_message("ready", sizeof "ready");
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
