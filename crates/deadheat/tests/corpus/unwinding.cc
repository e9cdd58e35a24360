// Two threads that each write a variable beside an exception, and beside the creation of a thread; nothing orders them.
#include <pthread.h>
#include "../../../../spec/programs/order.h"

int beside_exception, beside_creation;

static void *nothing(void *) { return 0; }

static void throws() {
    try {
        throw 1;
    } catch (int) {
    }
}

static void creates() {
    pthread_t thread;
    pthread_create(&thread, 0, nothing, 0);
    pthread_join(thread, 0);
}

static void *first(void *) {
    beside_exception = 1;
    throws();
    beside_creation = 1;
    creates();
    dh_done(0);
    return 0;
}

static void *second(void *) {
    dh_step(0);
    throws();
    beside_exception = 2;
    creates();
    beside_creation = 2;
    return 0;
}

int main() {
    pthread_t one, other;
    pthread_create(&one, 0, first, 0);
    pthread_create(&other, 0, second, 0);
    pthread_join(one, 0);
    pthread_join(other, 0);
}
