// An eventfd used as a semaphore is a lock around a plain counter.
#include <pthread.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

int counter, entry;

static void *worker(void *nothing) {
    uint64_t one = 1;
    for (int i = 0; i < 3; i++) {
        if (read(entry, &one, sizeof one) != sizeof one)
            return nothing;
        counter = counter + 1;
        if (write(entry, &one, sizeof one) != sizeof one)
            return nothing;
    }
    return nothing;
}

int main(void) {
    pthread_t one, other;
    entry = eventfd(1, EFD_SEMAPHORE);
    if (entry < 0)
        return 1;
    pthread_create(&one, 0, worker, 0);
    pthread_create(&other, 0, worker, 0);
    pthread_join(one, 0);
    pthread_join(other, 0);
    return counter == 6 ? 0 : 1;
}
