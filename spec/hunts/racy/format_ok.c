// A line is formatted anew while another thread takes its length.
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include "../hunt.h"

char line[64] = "nothing yet";
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *reporter(void *nothing) {
    pthread_mutex_lock(&mutex);
    int written = snprintf(line, sizeof line, "%d of %s: %.1f", 3, "seven", 42.9);
    pthread_mutex_unlock(&mutex);
    USE(written);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, reporter, 0);
    pthread_mutex_lock(&mutex);
    USE(strlen(line));
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, 0);
    return 0;
}
