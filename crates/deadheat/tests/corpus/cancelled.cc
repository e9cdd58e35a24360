// A thread is cancelled while it waits in a function of the C library: what it has on its stack ends as it should. `cancelled WHERE`.
#include <cstdio>
#include <cstring>
#include <ctime>
#include <pthread.h>
#include <unistd.h>

struct Ends {
    ~Ends() { std::printf("ended, "); }
};

static const char *where;

static void *work(void *nothing) {
    Ends ends;
    timespec time = {1000, 0};
    int number;
    if (std::strcmp(where, "nanosleep") == 0)
        nanosleep(&time, nullptr);
    else if (std::strcmp(where, "clock_nanosleep") == 0)
        clock_nanosleep(CLOCK_MONOTONIC, 0, &time, nullptr);
    else if (std::scanf("%d", &number) == 1)
        return nothing;
    return nothing;
}

int main(int, char **words) {
    int ends[2];
    where = words[1];
    if (pipe(ends) != 0 || dup2(ends[0], 0) != 0)
        return 1;
    pthread_t thread;
    void *result;
    pthread_create(&thread, nullptr, work, nullptr);
    pthread_cancel(thread);
    pthread_join(thread, &result);
    std::puts(result == PTHREAD_CANCELED ? "cancelled" : "returned");
}
