// A line is formatted anew while another thread takes its length.
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include "../hunt.h"

char line[64] = "nothing yet";

static void *reporter(void *nothing) {
    int written = snprintf(line, sizeof line, "%d of %s: %.1f", 3, "seven", 42.9); //~ race 1: write
    USE(written);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, reporter, 0);
    USE(strlen(line)); //~ race 1: read
    pthread_join(thread, 0);
    return 0;
}
