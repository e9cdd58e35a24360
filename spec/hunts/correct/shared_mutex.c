// A process-shared mutex in shared memory protects a counter from two processes of two threads each.
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

struct shared { pthread_mutex_t mutex; int counter; };
struct shared *shared;

static void *worker(void *nothing) {
    for (int i = 0; i < 3; i++) {
        pthread_mutex_lock(&shared->mutex);
        shared->counter = shared->counter + 1;
        pthread_mutex_unlock(&shared->mutex);
    }
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_mutexattr_t attributes;
    int status = 0;
    shared = mmap(0, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return 1;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&shared->mutex, &attributes);
    pid_t child = fork();
    if (child < 0)
        return 1;
    pthread_create(&thread, 0, worker, 0);
    worker(0);
    pthread_join(thread, 0);
    if (child == 0)
        _exit(0);
    if (waitpid(child, &status, 0) != child)
        return 1;
    return status == 0 && shared->counter == 12 ? 0 : 1;
}
