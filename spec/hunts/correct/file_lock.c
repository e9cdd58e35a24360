// An advisory lock on a file, taken by each thread through a descriptor of its own, protects a plain counter.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/mman.h>

int counter;

static void *worker(void *argument) {
    int file = *(const int *)argument;
    for (int i = 0; i < 3; i++) {
        if (flock(file, LOCK_EX))
            return 0;
        counter = counter + 1;
        flock(file, LOCK_UN);
    }
    return 0;
}

int main(void) {
    pthread_t one, other;
    char path[32];
    int files[2] = {memfd_create("lock", 0), -1};
    snprintf(path, sizeof path, "/proc/self/fd/%d", files[0]);
    files[1] = open(path, O_RDWR);
    if (files[0] < 0 || files[1] < 0)
        return 1;
    pthread_create(&one, 0, worker, &files[0]);
    pthread_create(&other, 0, worker, &files[1]);
    pthread_join(one, 0);
    pthread_join(other, 0);
    return counter == 6 ? 0 : 1;
}
