// A lock on a range of a file that belongs to the open description protects a plain counter.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>

int counter;

static int change(int file, short kind) {
    struct flock range = {.l_type = kind, .l_whence = SEEK_SET, .l_start = 4, .l_len = 2};
    return fcntl(file, F_OFD_SETLKW, &range);
}

static void *worker(void *argument) {
    int file = *(const int *)argument;
    for (int i = 0; i < 3; i++) {
        if (change(file, F_WRLCK))
            return 0;
        counter = counter + 1;
        change(file, F_UNLCK);
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
