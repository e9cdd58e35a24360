/* A cache that several threads use. put() changes the number of entries under the lock;
   report() reads it without. */
#include <pthread.h>
#include <stdio.h>

#define SLOTS 64

static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static int keys[SLOTS];
static int size;

static void put(int key) {
    pthread_mutex_lock(&mu);
    keys[size] = key;
    size = size + 1;
    pthread_mutex_unlock(&mu);
}

static void report(void) {
    printf("the cache has %d of %d entries\n", size, SLOTS);
}

static void *worker(void *first) {
    for (int key = *(int *)first, end = key + 3; key < end; key++)
        put(key);
    return NULL;
}

int main(void) {
    pthread_t thread;
    int first = 7;
    pthread_create(&thread, NULL, worker, &first);
    report();
    pthread_join(thread, NULL);
    return 0;
}
