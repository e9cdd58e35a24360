// Reads do not race with reads, however many threads read; one write races with them.
#include <pthread.h>
#include "../order.h"

int value = 7;

static void *reader(void *step) {
    dh_use(value);
    dh_done(step ? 1 : 2);
    return 0;
}

int main(void) {
    pthread_t one, other;
    pthread_create(&one, 0, reader, &value);
    pthread_create(&other, 0, reader, 0);
    dh_step(1);
    dh_step(2);
    dh_use(value);
    pthread_join(one, 0);
    pthread_join(other, 0);
    value = 8;
    return 0;
}
