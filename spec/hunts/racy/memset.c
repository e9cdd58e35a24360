// A record is cleared while one of its fields is read.
#include <pthread.h>
#include <string.h>
#include "../hunt.h"

struct { char name[56]; int count; } record;

static void *clearer(void *size) {
    memset(&record, 0, *(unsigned long *)size); //~ race 1: write
    return 0;
}

int main(void) {
    pthread_t thread;
    unsigned long size = sizeof record;
    pthread_create(&thread, 0, clearer, &size);
    USE(record.count); //~ race 1: read
    pthread_join(thread, 0);
    return 0;
}
