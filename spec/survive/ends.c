// Two threads race, and both end the process at the same time.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>

int shared;
static pthread_barrier_t both;
static int second_returns;

static void *end(void *nothing) {
    shared++;
    pthread_barrier_wait(&both);
    if (second_returns)
        return nothing;
    exit(0);
}

int main(int count, char **arguments) {
    const char *way = count > 1 ? arguments[1] : "";
    pthread_t thread;
    pthread_barrier_init(&both, 0, 2);
    second_returns = !strcmp(way, "alone");
    pthread_create(&thread, 0, end, 0);
    shared++;
    pthread_barrier_wait(&both);
    if (!strcmp(way, "exit"))
        exit(0);
    if (!strcmp(way, "goes"))
        pthread_exit(0);
    if (!strcmp(way, "went"))
        thrd_exit(0);
    return 0;
}
