// A process stops itself behind its writing: who has seen it stop reads, writes, and lets it go on.
#define _GNU_SOURCE
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void) {
    int status, *value = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (value == MAP_FAILED)
        return 1;
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        *value = 1;
        raise(SIGSTOP);
        *value = *value + 1;
        _exit(*value == 6 ? 0 : 1);
    }
    if (child < 0 || waitpid(child, &status, WUNTRACED) != child || !WIFSTOPPED(status))
        return 1;
    *value = *value + 4;
    kill(child, SIGCONT);
    if (waitpid(child, &status, 0) != child)
        return 1;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 && *value == 6 ? 0 : 1;
}
