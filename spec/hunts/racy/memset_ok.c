// A record is cleared while one of its fields is read.
#include <pthread.h>
#include <string.h>
#include "../hunt.h"

struct { char name[56]; int count; } record;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *clearer(void *size) {
    pthread_mutex_lock(&mutex);
    memset(&record, 0, *(unsigned long *)size);
    pthread_mutex_unlock(&mutex);
    return 0;
}

int main(void) {
    pthread_t thread;
    unsigned long size = sizeof record;
    pthread_create(&thread, 0, clearer, &size);
    pthread_mutex_lock(&mutex);
    USE(record.count);
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, 0);
    return 0;
}
