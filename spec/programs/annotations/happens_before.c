// ANNOTATE_HAPPENS_BEFORE and ANNOTATE_HAPPENS_AFTER order by the address that both name.
#include <pthread.h>
#include "../order.h"

void AnnotateHappensBefore(const char *file, int line, const volatile void *object);
void AnnotateHappensAfter(const char *file, int line, const volatile void *object);

int value, token, other_token;

static void *writer(void *nothing) {
    value = 1; //~ race 1: write
    AnnotateHappensBefore(__FILE__, __LINE__, &token);
    dh_done(1);
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, writer, 0);
    dh_step(1);
    AnnotateHappensAfter(__FILE__, __LINE__, &other_token);
    dh_use(value); //~ race 1: read
    pthread_join(thread, 0);
    return 0;
}
