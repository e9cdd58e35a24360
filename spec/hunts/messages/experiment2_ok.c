// Receiving takes the lock too late: it has read one of the port's variables before.
#include <pthread.h>
#include <string.h>
#include "../hunt.h"

struct { pthread_mutex_t lock; pthread_cond_t arrived; unsigned sent, taken; char text[32]; } port = {
    .lock = PTHREAD_MUTEX_INITIALIZER, .arrived = PTHREAD_COND_INITIALIZER};

WHOLE static void send_message(const char *text, unsigned length) {
    pthread_mutex_lock(&port.lock);
    memcpy(port.text, text, length);
    port.sent = 1;
    pthread_cond_signal(&port.arrived);
    pthread_mutex_unlock(&port.lock);
}

WHOLE static unsigned receive_message(char *text) {
    pthread_mutex_lock(&port.lock);
    unsigned at_entry = port.sent;
    while (port.sent == port.taken)
        pthread_cond_wait(&port.arrived, &port.lock);
    memcpy(text, port.text, sizeof port.text);
    port.taken = port.sent;
    pthread_mutex_unlock(&port.lock);
    return at_entry;
}

static void *sender(void *nothing) {
    send_message("ready", sizeof "ready");
    return nothing;
}

static void *receiver(void *nothing) {
    char text[32];
    USE(receive_message(text));
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
