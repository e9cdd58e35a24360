// A block that was filled and freed has no past in its next life, but that one has.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "../order.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
char *volatile block;
volatile size_t size = 6000;

static void *user(void *nothing) {
    for (int life = 0; life < 3; life++) {
        char *mine = malloc(size);
        for (int at = 0; at < 3; at++) {
            pthread_mutex_lock(&mutex);
            memset(mine, at, size);
            pthread_mutex_unlock(&mutex);
        }
        pthread_mutex_lock(&mutex);
        block = mine;
        pthread_mutex_unlock(&mutex);
        if (life < 2)
            free(mine);
    }
    memset(block, 9, size); //~ race 1: write
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, user, 0);
    dh_step(1);
    pthread_mutex_lock(&mutex);
    char *mine = block;
    pthread_mutex_unlock(&mutex);
    mine[3000] = 1; //~ race 1: write
    pthread_join(thread, 0);
    return 0;
}
