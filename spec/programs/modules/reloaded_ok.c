// A plug-in that was closed and opened again has fresh variables, wherever they lie.
//! plugin: parts/keeper.c
#include <dlfcn.h>
#include <pthread.h>
#include "../order.h"

int value;

static void *worker(void *nothing) {
    void *plugin = dlopen("./keeper.so", RTLD_NOW);
    ((void (*)(void))dlsym(plugin, "keep"))();
    dlclose(plugin);
    value = 1;
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, worker, 0);
    dh_step(1);
    pthread_join(thread, 0);
    void *plugin = dlopen("./keeper.so", RTLD_NOW);
    ((void (*)(void))dlsym(plugin, "keep"))();
    dlclose(plugin);
    dh_use(value);
    return 0;
}
