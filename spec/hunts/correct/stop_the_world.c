// A thread is stopped in a signal handler while another one changes its data, as collectors stop the world.
#include <pthread.h>
#include <signal.h>
#include <unistd.h>
#include "../hunt.h"

int value, stopped[2], go_on[2];
int end;

static void handler(int number) {
    char byte = (char)number;
    if (write(stopped[1], &byte, 1) != 1 || read(go_on[0], &byte, 1) != 1)
        _exit(1);
}

static void *worker(void *nothing) {
    while (!__atomic_load_n(&end, __ATOMIC_RELAXED)) {
        USE(value);
        value++;
        usleep(50);
    }
    return nothing;
}

int main(void) {
    pthread_t thread;
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    char byte = 'x';
    if (pipe(stopped) || pipe(go_on))
        return 1;
    sigaction(SIGUSR1, &action, 0);
    pthread_create(&thread, 0, worker, 0);
    for (int i = 0; i < 3; i++) {
        pthread_kill(thread, SIGUSR1);
        if (read(stopped[0], &byte, 1) != 1)
            return 1;
        USE(value);
        value = i;
        if (i == 2)
            __atomic_store_n(&end, 1, __ATOMIC_RELAXED);
        if (write(go_on[1], &byte, 1) != 1)
            return 1;
    }
    pthread_join(thread, 0);
    return 0;
}
