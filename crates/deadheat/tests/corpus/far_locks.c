// Locks far behind the beginning of their block, which are taken in opposite orders.
#include <pthread.h>
#include <stdlib.h>

enum { LOCKS = 8192 };
static pthread_mutex_t *locks;

static void *takes(void *which) {
    int first = LOCKS - 1 - (which != 0), second = LOCKS - 2 + (which != 0);
    pthread_mutex_lock(&locks[first]);
    pthread_mutex_lock(&locks[second]);
    pthread_mutex_unlock(&locks[second]);
    pthread_mutex_unlock(&locks[first]);
    return 0;
}

int main(void) {
    locks = calloc(LOCKS, sizeof *locks);
    for (int i = 0; i < LOCKS; i++)
        pthread_mutex_init(&locks[i], 0);
    for (int i = 0; i < 2; i++) {
        pthread_t thread;
        pthread_create(&thread, 0, takes, i ? locks : 0);
        pthread_join(thread, 0);
    }
    free(locks);
    return 0;
}
