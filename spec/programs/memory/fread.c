// fread writes into its buffer and fwrite reads its own.
#include <pthread.h>
#include <stdio.h>
#include "../order.h"

FILE *file;
char in[16], out[16];

static void *worker(void *nothing) {
    if (fwrite(out, 1, 16, file) == 16) //~ race 1: read
        dh_done(1);
    rewind(file);
    if (fread(in, 1, 16, file) == 16) //~ race 2: write
        dh_done(2);
    return nothing;
}

int main(void) {
    pthread_t thread;
    file = tmpfile();
    pthread_create(&thread, 0, worker, 0);
    dh_step(1);
    dh_step(2);
    out[15] = 1; //~ race 1: write
    dh_use(in[15]); //~ race 2: read
    pthread_join(thread, 0);
    return 0;
}
