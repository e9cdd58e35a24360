// A name is replaced while its length is taken.
#include <pthread.h>
#include <string.h>
#include "../hunt.h"

char name[16] = "anna", other[16] = "bert";
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *renamer(void *nothing) {
    pthread_mutex_lock(&mutex);
    strcpy(name, other);
    pthread_mutex_unlock(&mutex);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, renamer, 0);
    pthread_mutex_lock(&mutex);
    USE(strlen(name));
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, 0);
    return 0;
}
