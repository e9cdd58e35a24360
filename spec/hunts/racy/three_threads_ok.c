// One thread writes what two others read, each in its own way.
#include <pthread.h>
#include <stdatomic.h>
#include "../hunt.h"

atomic_int level;

static void *gauge(void *nothing) {
    USE(level);
    return nothing;
}

static void *alarm_bell(void *nothing) {
    if (level > 3)
        APART();
    return nothing;
}

int main(void) {
    pthread_t one, other;
    pthread_create(&one, 0, gauge, 0);
    pthread_create(&other, 0, alarm_bell, 0);
    level = 2;
    pthread_join(one, 0);
    pthread_join(other, 0);
    return 0;
}
