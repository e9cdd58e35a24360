// Threads fill, copy, clear and free whole buffers and come to single bytes of them at the same time, in order and out of it.
//
// Each buffer of the pool has a lock, under which a thread does one thing after the other with it. One buffer more has none: half of the threads fill it as a whole,
// the others write to two of its bytes, and all of that races, surely so what they do first: the others among themselves, since nobody fills it in between, then all. ROUNDS of each thread.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 8, BUFFERS = 12, SIZE = 5000 };

static struct buffer {
    pthread_mutex_t lock;
    unsigned char *bytes;
} pool[BUFFERS];
unsigned char shared[SIZE];
static volatile size_t size = SIZE;
static int rounds = 300;
static pthread_barrier_t begin;

static unsigned next(unsigned *state) {
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

static unsigned one_thing(struct buffer *buffer, unsigned what, unsigned value) {
    unsigned char copy[SIZE];
    unsigned char *const bytes = buffer->bytes;
    switch (what) {
    case 0: case 1: case 2:
        memset(bytes, (int)value, size);
        return 0;
    case 3: case 4: case 5:
        memcpy(copy, bytes, size);
        return copy[value % SIZE];
    case 6:
        memset(bytes + value % 3000, 1, 1 + value % 1500);
        return 0;
    case 7:
        bytes[value % SIZE]++;
        return 0;
    case 8:
        return bytes[value % SIZE];
    default:
        free(bytes);
        buffer->bytes = malloc(size);
        if (!buffer->bytes) abort();
        memset(buffer->bytes, 2, size);
        return 0;
    }
}

static void write_one(int at) {
    shared[at] = 1; //~ race 2: write, race 3: write, race 3: write
}

static void *work(void *number) {
    const unsigned mine = (unsigned)(size_t)number;
    unsigned state = 77 + mine, sum = 0;
    pthread_barrier_wait(&begin);
    if (mine % 2 == 0) write_one(0);
    pthread_barrier_wait(&begin);
    for (int round = 0; round < rounds; round++) {
        if (mine % 2) {
            memset(shared, 1, size); //~ race 1: write, race 1: write, race 2: write
        } else {
            write_one((round & 1) * 2500);
        }
        struct buffer *buffer = &pool[next(&state) % BUFFERS];
        pthread_mutex_lock(&buffer->lock);
        for (unsigned things = 1 + next(&state) % 3; things > 0; things--) {
            sum += one_thing(buffer, next(&state) % 10, next(&state));
        }
        pthread_mutex_unlock(&buffer->lock);
    }
    return (void *)(size_t)sum;
}

int main(int argc, char **argv) {
    if (argc > 1) rounds = atoi(argv[1]);
    for (int at = 0; at < BUFFERS; at++) {
        pthread_mutex_init(&pool[at].lock, 0);
        pool[at].bytes = calloc(1, size);
        if (!pool[at].bytes) return 1;
    }
    pthread_t threads[THREADS];
    pthread_barrier_init(&begin, 0, THREADS);
    for (size_t at = 0; at < THREADS; at++) {
        if (pthread_create(&threads[at], 0, work, (void *)at)) return 1;
    }
    for (int at = 0; at < THREADS; at++) pthread_join(threads[at], 0);
    for (int at = 0; at < BUFFERS; at++) free(pool[at].bytes);
    return 0;
}
