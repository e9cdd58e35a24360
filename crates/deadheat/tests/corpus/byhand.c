/* Two threads write `shared` in no order; then the program ends in the way that its argument names. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef OWN_OPTIONS
const char *__tsan_default_options(void) { return "exitcode=5:log_path=own"; }
#endif
#ifdef OWN_SUPPRESSIONS
const char *__tsan_default_suppressions(void) { return "race:^store$\n"; }
#endif

int shared;
static int children;

static void *store(void *nothing) {
    shared = 1; /* the second thread's */
    return nothing;
}

static void race(void) {
    pthread_t thread;
    pthread_create(&thread, 0, store, 0);
    shared = 2; /* the first thread's */
    pthread_join(thread, 0);
}

static void child_ended(int signal) {
    (void)signal;
    children++;
}

static void around_fork(void) { shared++; }

static void at_the_end(void) { shared = 3; }

__attribute__((destructor)) static void late(void) { printf("destructor\n"); }

static int descriptors(void) {
    int count = 0;
    for (int i = 0; i < 1024; i++)
        count += fcntl(i, F_GETFD) != -1;
    return count;
}

int main(int count, char **arguments) {
    const char *way = count > 1 ? arguments[1] : "";
    int status;
    printf("begin\n");
    if (!strcmp(way, "silent"))
        return 3;
    if (!strcmp(way, "descriptors")) {
        race();
        printf("%d\n", descriptors());
        for (int i = 3; i < 1024; i++)
            close(i);
        return 0;
    }
    if (!strcmp(way, "fork")) {
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            race();
            return 0;
        }
        waitpid(child, &status, 0);
        printf("child %d\n", WEXITSTATUS(status));
        return 0;
    }
    if (!strcmp(way, "atfork")) {
        pthread_t thread;
        fflush(stdout);
        pthread_atfork(around_fork, around_fork, around_fork);
        pthread_create(&thread, 0, store, 0);
        if (fork() == 0)
            _exit(0);
        pthread_join(thread, 0);
        wait(&status);
        return status;
    }
    if (!strcmp(way, "at_quick_exit")) {
        pthread_t thread;
        at_quick_exit(at_the_end);
        pthread_create(&thread, 0, store, 0);
        /* What waits by no means that orders anything is the end itself. */
        while (__atomic_load_n(&shared, __ATOMIC_RELAXED) == 0)
            usleep(1000);
        quick_exit(4);
    }
    signal(SIGCHLD, strcmp(way, "ignoring") ? child_ended : SIG_IGN);
    race();
    printf("done\n");
    if (!strcmp(way, "_exit")) {
        fflush(stdout);
        _exit(4);
    }
    if (!strcmp(way, "quick_exit"))
        quick_exit(4);
    if (!strcmp(way, "abort"))
        abort();
    if (!strcmp(way, "exec")) {
        fflush(stdout);
        execl("/bin/echo", "echo", "executed", (char *)0);
    }
    if (!strcmp(way, "failing-exec")) {
        execl("/nonexistent", "nonexistent", (char *)0);
        printf("children %d, none to wait for: %d\n", children, wait(&status) == -1 && errno == ECHILD);
    }
    return 3;
}
