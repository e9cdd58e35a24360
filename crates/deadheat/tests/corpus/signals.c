/* Two threads write `shared` in no order, unless the first argument says otherwise; then a signal ends the program, or does not, in
   the way that the last argument names. */
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int shared;
static volatile int *nowhere;

static void *store(void *nothing) {
    shared = 1;
    return nothing;
}

static void race(void) {
    pthread_t thread;
    pthread_create(&thread, 0, store, 0);
    shared = 2;
    pthread_join(thread, 0);
}

static void again(int number) {
    signal(number, SIG_DFL);
    raise(number);
}

static volatile sig_atomic_t came;

static void once(int number) { came = number; }

/* A flag that the C library sets for itself. */
#define RESTORER 0x04000000

/* Whether the program is told of no handler but its own. */
static int is_usual(int number, int flags) {
    struct sigaction action;
    memset(&action, 7, sizeof action);
    return !sigaction(number, 0, &action) && action.sa_handler == SIG_DFL &&
           (action.sa_flags & ~RESTORER) == flags;
}

int main(int count, char **arguments) {
    const char *way = arguments[count - 1];
    int status = 0;
    struct sigaction inherited;
    /* Whoever runs this in the background may have it ignored; then it is told of from here on. */
    if (!sigaction(SIGINT, 0, &inherited) && inherited.sa_handler == SIG_IGN)
        signal(SIGINT, SIG_DFL);
    if (!is_usual(SIGSEGV, 0) || signal(SIGTERM, SIG_DFL) != SIG_DFL || !is_usual(SIGTERM, SA_RESTART))
        return 2;
    if (strcmp(arguments[1], "none"))
        race();
    if (!strcmp(way, "fault"))
        *nowhere = 1;
    if (!strcmp(way, "trap"))
        __builtin_trap();
    if (!strcmp(way, "assert"))
        assert(!"so");
    if (!strcmp(way, "killed"))
        kill(getpid(), SIGTERM);
    if (!strcmp(way, "stopped"))
        raise(SIGINT);
    if (!strcmp(way, "pipe")) {
        int ends[2];
        if (!pipe(ends) && !close(ends[0]) && write(ends[1], "x", 1) < 0)
            return 2;
    }
    if (!strcmp(way, "handled")) {
        signal(SIGSEGV, again);
        *nowhere = 1;
    }
    if (!strcmp(way, "once")) {
        struct sigaction action = {.sa_handler = once, .sa_flags = SA_RESETHAND};
        sigaction(SIGUSR1, &action, 0);
        raise(SIGUSR1);
        if (!is_usual(SIGUSR1, SA_RESETHAND))
            return 2;
        raise(SIGUSR1);
    }
    if (!strcmp(way, "ignored")) {
        signal(SIGTERM, SIG_IGN);
        raise(SIGTERM);
    }
    if (!strcmp(way, "borrowed")) {
        signal(SIGUSR2, once);
        pid_t child = vfork();
        if (child == 0) {
            signal(SIGUSR2, SIG_DFL);
            raise(SIGUSR2);
            _exit(2);
        }
        if (waitpid(child, &status, 0) != child || WTERMSIG(status) != SIGUSR2)
            return 2;
        raise(SIGUSR2);
        return came == SIGUSR2 ? 0 : 2;
    }
    if (!strcmp(way, "vfork") || !strcmp(way, "fork")) {
        pid_t child = *way == 'v' ? vfork() : fork();
        if (child == 0) {
            raise(SIGTERM);
            _exit(2);
        }
        if (waitpid(child, &status, 0) != child || WTERMSIG(status) != SIGTERM)
            return 2;
        raise(SIGINT);
    }
    return 0;
}
