// Loads the store as a plug-in.
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include "order.h"

static void (*put)(int);
static int (*size)(void);

static void *worker(void *nothing) {
    put(1);
    done();
    return nothing;
}

int main(int count, char **arguments) {
    pthread_t thread;
    void *library = count > 1 ? dlopen(arguments[1], RTLD_NOW) : NULL;
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    put = (void (*)(int))dlsym(library, "store_put");
    size = (int (*)(void))dlsym(library, "store_size");
    if (pthread_create(&thread, NULL, worker, NULL))
        return 1;
    wait_until_done();
    int found = size();
    pthread_join(thread, NULL);
    return found == 1 ? 0 : 2;
}
