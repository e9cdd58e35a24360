// A word is written while one of its bytes is read; the byte behind the word is free.
#include <pthread.h>
#include "../hunt.h"

union { int word; char bytes[8]; } both;

static void *writer(void *nothing) {
    both.word = 5; //~ race 1: write
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, writer, 0);
    USE((int)both.bytes[2]); //~ race 1: read
    pthread_join(thread, 0);
    return 0;
}
