// Peterson's algorithm, sequentially consistent, protects a plain counter without any exchange.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

int counter;
atomic_int wants[2], last;

static void *worker(void *argument) {
    int mine = *(const int *)argument;
    for (int i = 0; i < 3; i++) {
        atomic_store(&wants[mine], 1);
        atomic_store(&last, mine);
        while (atomic_load(&wants[1 - mine]) && atomic_load(&last) == mine)
            sched_yield();
        counter = counter + 1;
        atomic_store(&wants[mine], 0);
    }
    return 0;
}

int main(void) {
    pthread_t thread;
    int numbers[2] = {0, 1};
    pthread_create(&thread, 0, worker, &numbers[0]);
    worker(&numbers[1]);
    pthread_join(thread, 0);
    return counter == 6 ? 0 : 1;
}
