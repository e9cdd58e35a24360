// A child inherits the locks that its thread held, and may use them for threads of its own.
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../order.h"

int value;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *reader(void *nothing) {
    dh_step(1);
    pthread_mutex_lock(&mutex);
    dh_use(value);
    pthread_mutex_unlock(&mutex);
    return nothing;
}

int main(void) {
    pthread_mutex_lock(&mutex);
    pid_t child = fork();
    if (child == 0) {
        pthread_t thread;
        pthread_create(&thread, 0, reader, 0);
        value = 1;
        pthread_mutex_unlock(&mutex);
        dh_done(1);
        pthread_join(thread, 0);
        _exit(0);
    }
    pthread_mutex_unlock(&mutex);
    waitpid(child, 0, 0);
    return 0;
}
