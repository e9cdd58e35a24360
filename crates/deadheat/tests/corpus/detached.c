// Threads that nobody joins, one behind the other, each of which publishes the last that it does to who waits for it. The last
// two race.
#include <pthread.h>
#include <stdio.h>
#include <sys/resource.h>
#include "../../../../spec/programs/order.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER;
static int count;
int shared;

static void *worker(void *last) {
    pthread_mutex_lock(&mutex);
    count++;
    pthread_cond_signal(&ended);
    pthread_mutex_unlock(&mutex);
    if (last) {
        shared = 1;
        dh_done(1);
    }
    return last;
}

static void create(void *last) {
    pthread_t thread;
    pthread_create(&thread, 0, worker, last);
    pthread_detach(thread);
}

int main(int argc, char **argv) {
    int many = 0;
    for (char *digit = argv[argc - 1]; *digit; digit++) many = 10 * many + *digit - '0';
    for (int i = 1; i <= many; i++) {
        create(0);
        pthread_mutex_lock(&mutex);
        while (count < i) pthread_cond_wait(&ended, &mutex);
        pthread_mutex_unlock(&mutex);
    }
    create(&count);
    dh_step(1);
    shared = 1;
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    printf("peak %ld\n", used.ru_maxrss);
    return 0;
}
