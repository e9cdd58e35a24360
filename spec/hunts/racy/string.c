// A name is replaced while its length is taken.
#include <pthread.h>
#include <string.h>
#include "../hunt.h"

char name[16] = "anna", other[16] = "bert";

static void *renamer(void *nothing) {
    strcpy(name, other); //~ race 1: write
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, renamer, 0);
    USE(strlen(name)); //~ race 1: read
    pthread_join(thread, 0);
    return 0;
}
