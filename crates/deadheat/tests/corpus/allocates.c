// Blocks go from thread to thread, and what the C library allocated comes back to it.
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char *kept;

static void *worker(void *name) {
    for (int i = 0; i < 200; i++) {
        char *text, *line = 0;
        size_t room = 0;
        if (asprintf(&text, "%s %d\n", (char *)name, i) < 0 || malloc_usable_size(text) <= strlen(text)) abort();
        FILE *file = fmemopen(text, strlen(text), "r");
        if (getline(&line, &room, file) < 0 || strcmp(line, text) != 0) abort();
        fclose(file);
        free(text);
        line = realloc(line, 1000);
        pthread_mutex_lock(&mutex);
        char *other = kept;
        kept = line;
        pthread_mutex_unlock(&mutex);
        free(other);
    }
    return name;
}

int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], 0, worker, "one");
    pthread_create(&threads[1], 0, worker, "two");
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    free(kept);
    puts("done");
    return 0;
}
