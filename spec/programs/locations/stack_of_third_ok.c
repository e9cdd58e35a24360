// A local variable that two other threads race on is named by what its own thread did to it.
//! location 1: stack job.total
#include <pthread.h>
#include "../order.h"

struct job {
    int id;
    int total;
};

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *first(void *argument) {
    struct job *job = argument;
    pthread_mutex_lock(&mutex);
    job->total = 1;
    pthread_mutex_unlock(&mutex);
    dh_done(1);
    return 0;
}

static void *second(void *argument) {
    struct job *job = argument;
    dh_step(1);
    pthread_mutex_lock(&mutex);
    job->total = 2;
    pthread_mutex_unlock(&mutex);
    return 0;
}

static __attribute__((noinline, noclone)) int run(int id) {
    struct job job;
    pthread_t threads[2];
    job.id = id;
    job.total = 0;
    pthread_create(&threads[0], 0, first, &job);
    pthread_create(&threads[1], 0, second, &job);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    return job.total;
}

int main(int count, char **arguments) {
    (void)arguments;
    dh_use(run(count));
    return 0;
}
