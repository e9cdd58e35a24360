/* Puts something else in the place of its own file while it runs, then races. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static int value;

static void *add(void *nothing) {
    value++;
    return nothing;
}

int main(int count, char **arguments) {
    (void)count;
    unlink(arguments[0]);
    FILE *another = fopen(arguments[0], "w");
    fputs("no program\n", another);
    fclose(another);
    pthread_t thread;
    pthread_create(&thread, NULL, add, NULL);
    add(NULL);
    pthread_join(thread, NULL);
    return 0;
}
