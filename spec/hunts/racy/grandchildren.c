// Two threads each make a thread of their own, in whatever order: the first one's child races with the second one's.
#include <pthread.h>
#include "../hunt.h"

int value, other_value;

static void *write_value(void *nothing) {
    value = 1; //~ race 1: write
    return nothing;
}

static void *read_value(void *nothing) {
    USE(value); //~ race 1: read
    return nothing;
}

static void *make_writer(void *nothing) {
    pthread_t child;
    pthread_create(&child, 0, write_value, 0);
    pthread_join(child, 0);
    return nothing;
}

static void *make_reader(void *nothing) {
    pthread_t child;
    pthread_create(&child, 0, read_value, 0);
    pthread_join(child, 0);
    return nothing;
}

int main(void) {
    pthread_t one, other;
    pthread_create(&one, 0, make_writer, 0);
    pthread_create(&other, 0, make_reader, 0);
    pthread_join(one, 0);
    pthread_join(other, 0);
    return 0;
}
