// strchr and strrchr read the string that they search.
#include <pthread.h>
#include <string.h>
#include "../order.h"

char one[32] = "a/b/c", other[32] = "a/b/c";
int wanted = '/';

static void *searcher(void *nothing) {
    dh_use(strchr(one, wanted));
    dh_use(strrchr(other, wanted));
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, searcher, 0);
    dh_step(1);
    pthread_join(thread, 0);
    one[1] = '.';
    other[4] = '.';
    return 0;
}
