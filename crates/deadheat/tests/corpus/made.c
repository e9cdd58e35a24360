// Blocks that the C library allocates for the program, each written by two threads.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

static void *made_by_strdup(void) { return strdup("text"); }

static void *made_by_strndup(void) { return strndup("text", 2); }

static void *made_by_wcsdup(void) { return wcsdup(L"text"); }

static void *made_by_asprintf(void) {
    char *text;
    return asprintf(&text, "%d", 12345) < 0 ? 0 : text;
}

static void *made_by_realpath(void) { return realpath("/.", 0); }

static void *made_by_getline(void) {
    char *line = 0;
    size_t room = 0;
    FILE *file = fopen("/proc/self/stat", "r");
    if (!file || getline(&line, &room, file) < 0) abort();
    fclose(file);
    return line;
}

static void *(*const makers[])(void) = {
    made_by_strdup, made_by_strndup, made_by_wcsdup, made_by_asprintf, made_by_realpath, made_by_getline,
};
enum { COUNT = sizeof makers / sizeof *makers };
static char *blocks[COUNT];

// A function of its own for each block, so that each has a race of its own.
#define WRITES(at) \
    static __attribute__((noinline)) void write_##at(void) { blocks[at][0] = 'a' + at; }
WRITES(0)
WRITES(1)
WRITES(2)
WRITES(3)
WRITES(4)
WRITES(5)

static void *worker(void *nothing) {
    write_0();
    write_1();
    write_2();
    write_3();
    write_4();
    write_5();
    return nothing;
}

int main(void) {
    pthread_t threads[2];
    for (int at = 0; at < COUNT; at++) blocks[at] = makers[at]();
    for (int at = 0; at < 2; at++) pthread_create(&threads[at], 0, worker, 0);
    for (int at = 0; at < 2; at++) pthread_join(threads[at], 0);
    return 0;
}
