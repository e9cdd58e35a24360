/* Puts a filter on its system calls, by prctl or, if its argument is 1, by syscall, that ends it at madvise with an advice which programs do not give;
 * then two threads write fresh memory. */
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { WORDS = 1 << 18, POPULATE_WRITE = 23 };

static uint64_t memory[2][WORDS];

static void *fill(void *memory) {
    for (size_t i = 0; i < WORDS; i++) ((uint64_t *)memory)[i] = i;
    return NULL;
}

int main(int argc, char **argv) {
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, POPULATE_WRITE, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog filter = {sizeof steps / sizeof *steps, steps};
    const int by_syscall = argc > 1 && atoi(argv[1]) == 1;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        (by_syscall ? syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter)
                    : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter)) != 0) {
        puts("no filter");
        return 0;
    }
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, fill, memory[i]);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    puts("done");
    return 0;
}
