// A part of a local variable is told with the name of the variable.
//! location 1: stack pair[1].second
//! needs: gcc, clang 19 leaves out an access to a part whose own address is not taken elsewhere
#include <pthread.h>
#include "../order.h"

struct pair {
    int first, second;
};

static void *writer(void *element) {
    ((struct pair *)element)->second = 1; //~ race 1: write
    dh_done(1);
    return 0;
}

int main(void) {
    pthread_t thread;
    struct pair pair[2] = {{0, 0}, {0, 0}};
    pthread_create(&thread, 0, writer, &pair[1]);
    dh_step(1);
    dh_use(pair[1].second); //~ race 1: read
    pthread_join(thread, 0);
    return 0;
}
