// Code of a plug-in brought in by dlopen is watched from its first call on.
//! plugin: parts/counter_ok.c
#include <dlfcn.h>
#include <pthread.h>
#include "../order.h"

static void *worker(void *count) {
    ((void (*)(void))count)();
    dh_done(1);
    return 0;
}

int main(void) {
    pthread_t thread;
    void *plugin = dlopen("./counter_ok.so", RTLD_NOW);
    if (!plugin)
        return 1;
    int (*counted)(void) = (int (*)(void))dlsym(plugin, "counted");
    pthread_create(&thread, 0, worker, dlsym(plugin, "count"));
    dh_step(1);
    dh_use(counted());
    pthread_join(thread, 0);
    return 0;
}
