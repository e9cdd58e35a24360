/* Calls what the sanitizers share, and races. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void __sanitizer_print_stack_trace(void);
void __sanitizer_symbolize_pc(void *pc, const char *format, char *room, size_t size);
void __sanitizer_symbolize_global(void *data, const char *format, char *room, size_t size);
int __sanitizer_get_module_and_offset_for_pc(void *pc, char *module, size_t size, void **offset);
void __sanitizer_report_error_summary(const char *text);
void __sanitizer_set_report_path(const char *path);
const char *__sanitizer_get_report_path(void);
void __sanitizer_set_death_callback(void (*function)(void));
int __sanitizer_get_ownership(const volatile void *block);
size_t __sanitizer_get_allocated_size(const volatile void *block);
const void *__sanitizer_get_allocated_begin(const void *inside);
size_t __sanitizer_get_current_allocated_bytes(void);
size_t __sanitizer_get_heap_size(void);
int __sanitizer_install_malloc_and_free_hooks(void (*born)(const volatile void *, size_t), void (*died)(const volatile void *));

int shared;

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

static void dying(void) { fprintf(stderr, "the last word\n"); }

__attribute__((noinline)) void inner(void) { __sanitizer_print_stack_trace(); }

#define CHECK(what)                                    \
    do                                                 \
        if (!(what)) {                                 \
            fprintf(stderr, "not so: %s\n", #what);    \
            exit(2);                                   \
        }                                              \
    while (0)

int main(int count, char **arguments) {
    char room[256], tiny[4];
    void *offset = 0;
    char *block = malloc(13);
    inner();
    memset(room, 7, sizeof room);
    __sanitizer_symbolize_pc((void *)inner, "%p %f %q|%m|%%", room, sizeof room);
    CHECK(strstr(room, " inner 0x0|") && strstr(room, "|%") && !room[strlen(room) + 1]);
    __sanitizer_symbolize_pc((void *)inner, "%f", tiny, sizeof tiny);
    CHECK(!strcmp(tiny, "inn"));
    __sanitizer_symbolize_global(&shared, "%g", room, sizeof room);
    CHECK(!strcmp(room, "shared"));
    Dl_info known;
    CHECK(dladdr((void *)inner, &known));
    CHECK(__sanitizer_get_module_and_offset_for_pc((void *)inner, room, sizeof room, &offset));
    CHECK(!strcmp(room, known.dli_fname) && (char *)offset == (char *)inner - (size_t)known.dli_fbase);
    CHECK(!__sanitizer_get_module_and_offset_for_pc((void *)16, room, sizeof room, &offset));
    CHECK(__sanitizer_get_ownership(block) && !__sanitizer_get_ownership(block + 1));
    CHECK(!__sanitizer_get_ownership(room) && !__sanitizer_get_allocated_size(room));
    CHECK(__sanitizer_get_allocated_size(block) == 13 && __sanitizer_get_allocated_begin(block + 12) == block);
    CHECK(__sanitizer_get_heap_size() >= __sanitizer_get_current_allocated_bytes());
    CHECK(__sanitizer_get_current_allocated_bytes() >= 13);
    CHECK(!__sanitizer_install_malloc_and_free_hooks(0, 0));
    CHECK(!strcmp(__sanitizer_get_report_path(), "stderr"));
    __sanitizer_report_error_summary("of its own");
    __sanitizer_set_death_callback(dying);
    if (count > 1) {
        __sanitizer_set_report_path(arguments[1]);
        CHECK(!strcmp(__sanitizer_get_report_path(), arguments[1]));
    }
    race();
    free(block);
    return 0;
}
