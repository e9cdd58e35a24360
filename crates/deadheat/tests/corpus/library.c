// In front of the rows of `spec/library.txt`.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <execinfo.h>
#include <fcntl.h>
#include <grp.h>
#include <iconv.h>
#include <inttypes.h>
#include <math.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <pwd.h>
#include <regex.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/times.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

// A row: its name, whether it runs by itself, and what the two threads do.
struct row {
    const char *name;
    int alone;
    void (*one)(void);
    void (*other)(void);
};

static volatile double one_and_a_half = 1.5;
// Not a literal: what has `%n` in memory that can be written ends a program that is built with `_FORTIFY_SOURCE`.
static const char format_with_count[] = "abc%n\n";

static int by_value(const void *one, const void *other) { return *(const int *)one - *(const int *)other; }

static int by_value_and_more(const void *one, const void *other, void *more) {
    (void)more;
    return by_value(one, other);
}

static int my_printf(const char *format, ...) {
    va_list list;
    va_start(list, format);
    int result = vprintf(format, list);
    va_end(list);
    return result;
}

static int my_sscanf(const char *text, const char *format, ...) {
    va_list list;
    va_start(list, format);
    int result = vsscanf(text, format, list);
    va_end(list);
    return result;
}

static void convert(char *in, char *out) {
    iconv_t how = iconv_open("UTF-8", "LATIN1");
    size_t left = 3, room = 8;
    iconv(how, &in, &left, &out, &room);
    iconv_close(how);
}
