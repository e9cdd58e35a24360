// Asks the kernel about memory that cannot be read, or about more than there is, and prints what it answers.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

static pthread_mutex_t whole_time = PTHREAD_MUTEX_INITIALIZER;

static void *wait_for_the_end(void *nothing) {
    pthread_mutex_lock(&whole_time);
    pthread_mutex_unlock(&whole_time);
    return nothing;
}

#define ASK(call)                                                         \
    do {                                                                  \
        errno = 0;                                                        \
        long got = (long)(call);                                          \
        printf("%s: %d %s\n", #call, got < 0, got < 0 ? strerror(errno) : ""); \
        fflush(stdout);                                                   \
    } while (0)

static int pipes[2], pair[2], semaphores, messages;
enum { SIZE = 4096 };
static char *room;
static struct stat about;
static struct statfs system_of;
static struct statvfs system_as_posix;
static struct statx more;

/// Calls with an address that cannot be read.
static void ask_about(void *bad) {
    ASK(stat(bad, &about));
    ASK(lstat(bad, &about));
    ASK(fstatat(AT_FDCWD, bad, &about, 0));
    ASK(statx(AT_FDCWD, bad, 0, 0, &more));
    ASK(statfs(bad, &system_of));
    ASK(statvfs(bad, &system_as_posix));
    ASK(open(bad, O_RDONLY));
    ASK(openat(AT_FDCWD, bad, O_RDONLY));
    ASK(creat(bad, 0));
    ASK(fopen(bad, "r") ? 0 : -1);
    ASK(access(bad, 0));
    ASK(faccessat(AT_FDCWD, bad, 0, 0));
    ASK(unlink(bad));
    ASK(unlinkat(AT_FDCWD, bad, 0));
    ASK(rmdir(bad));
    ASK(mkdir(bad, 0));
    ASK(mkfifo(bad, 0));
    ASK(chdir(bad));
    ASK(chmod(bad, 0));
    ASK(chown(bad, 0, 0));
    ASK(rename(bad, "x"));
    ASK(rename("x", bad));
    ASK(renameat(AT_FDCWD, bad, AT_FDCWD, "x"));
    ASK(link(bad, "x"));
    ASK(symlink(bad, "x"));
    ASK(readlink(bad, room, SIZE));
    ASK(readlinkat(AT_FDCWD, bad, room, SIZE));
    ASK(truncate(bad, 0));
    ASK(memfd_create(bad, 0));
    ASK(write(pipes[1], bad, 4));
    ASK(writev(pipes[1], bad, 1));
    ASK(readv(pipes[0], bad, 1));
    ASK(send(pair[0], bad, 4, MSG_DONTWAIT));
    ASK(sendmsg(pair[0], bad, MSG_DONTWAIT));
    ASK(sendmmsg(pair[0], bad, 1, MSG_DONTWAIT));
    ASK(recvmsg(pair[0], bad, MSG_DONTWAIT));
    ASK(recvfrom(pair[1], room, 1, MSG_DONTWAIT, (void *)room, bad));
    ASK(getsockname(pair[0], (void *)room, bad));
    ASK(getpeername(pair[0], (void *)room, bad));
    ASK(getsockopt(pair[0], SOL_SOCKET, SO_TYPE, room, bad));
    ASK(setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, bad, 4));
    ASK(bind(pair[0], bad, 16));
    ASK(poll(bad, 1, 0));
    ASK(semop(semaphores, bad, 1));
    ASK(msgsnd(messages, bad, 4, IPC_NOWAIT));
}

/// Calls with sizes that nothing has.
static void ask_for_all(void) {
    const size_t all = -1;
    struct iovec parts[2] = {{room, all}, {room, all}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = all};
    ASK(write(pipes[1], room, all));
    ASK(write(-1, room, all));
    ASK(send(pair[0], room, 1 << 20, MSG_DONTWAIT));
    ASK(sendto(pair[0], room, 1, MSG_DONTWAIT, (void *)room, -1));
    ASK(writev(pipes[1], parts, 2));
    ASK(writev(pipes[1], parts, 1 << 30));
    ASK(writev(pipes[1], parts, -1));
    ASK(readv(pipes[0], parts, -1));
    ASK(sendmsg(pair[0], &message, MSG_DONTWAIT));
    ASK(recvmsg(pair[0], &message, MSG_DONTWAIT));
    ASK(poll((void *)room, all, 0));
    ASK(setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, room, -1));
    ASK(bind(pair[0], (void *)room, -1));
    ASK(semop(semaphores, (void *)room, all));
    ASK(msgsnd(messages, room, all, IPC_NOWAIT));
}

int main(void) {
    pthread_t thread;
    pthread_mutex_lock(&whole_time);
    pthread_create(&thread, 0, wait_for_the_end, 0);
    pipe2(pipes, O_NONBLOCK);
    socketpair(AF_UNIX, SOCK_DGRAM, 0, pair);
    send(pair[0], "x", 1, 0);
    semaphores = semget(IPC_PRIVATE, 1, 0600);
    messages = msgget(IPC_PRIVATE, 0600);
    room = mmap(0, 2 * SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(room + SIZE, SIZE, PROT_NONE);
    ask_about((void *)4);
    ask_about(room + SIZE);
    ask_for_all();
    semctl(semaphores, 0, IPC_RMID);
    msgctl(messages, IPC_RMID, 0);
    pthread_mutex_unlock(&whole_time);
    pthread_join(thread, 0);
    return 0;
}
