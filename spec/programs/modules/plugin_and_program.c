// A plug-in and the program race on memory that the one hands to the other.
//! plugin: parts/setter.c
#include <dlfcn.h>
#include <pthread.h>
#include "../order.h"

int value;
void (*set)(int *);

static void *worker(void *nothing) {
    set(&value);
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    void *plugin = dlopen("./setter.so", RTLD_NOW);
    if (!plugin)
        return 1;
    set = (void (*)(int *))dlsym(plugin, "set");
    pthread_create(&thread, 0, worker, 0);
    dh_step(1);
    dh_use(value); //~ race 1: read in main
    pthread_join(thread, 0);
    dlclose(plugin);
    return 0;
}
