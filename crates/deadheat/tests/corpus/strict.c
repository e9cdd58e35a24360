/* Puts itself into seccomp's strict mode, in which it may read, write and end alone, and writes; or, if its argument is 1, behind a filter that ends it at any
 * call but those of one that writes and ends, and of the memory that it asks for. */
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ALLOW(number) \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

int main(int argc, char **argv) {
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(SYS_write), ALLOW(SYS_exit_group), ALLOW(SYS_brk), ALLOW(SYS_mmap), ALLOW(SYS_munmap),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    const struct sock_fprog filter = {sizeof steps / sizeof *steps, steps};
    const int strict = argc < 2 || atoi(argv[1]) == 0;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        (strict ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0)
                : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter)) != 0) {
        puts("no filter");
        return 0;
    }
    if (write(STDOUT_FILENO, "done\n", 5) != 5) syscall(SYS_exit, 1);
    if (strict) syscall(SYS_exit, 0);
    return 0;
}
