/* What one operation costs: `micro OPERATION COUNT` makes the operation COUNT times (or a little more: whole passes
 * over its memory), prints the nanoseconds of processor time that one took (of both threads where two make it), and ends. `micro list` names the operations.
 *
 * A second thread is there all the time, since a detector may look at nothing while one thread runs alone; it sleeps, but for
 * the operations that two threads make by turns. No operation races. */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Cells of memory that are passed over between two synchronisations; they fit into the first-level cache with what is
 * remembered of them. */
enum { CELLS = 512, LOCKS = 64 };

typedef int v4 __attribute__((vector_size(16)));

static volatile uint8_t at1 __attribute__((aligned(16)));
static volatile uint16_t at2 __attribute__((aligned(16)));
static volatile uint32_t at4 __attribute__((aligned(16)));
static volatile uint64_t at8 __attribute__((aligned(16)));
static volatile v4 at16 __attribute__((aligned(16)));
static volatile uint64_t cells[CELLS] __attribute__((aligned(64)));
static volatile uint32_t halves[2 * CELLS] __attribute__((aligned(64)));
static _Atomic uint64_t shared __attribute__((aligned(64)));
static char from[4096] __attribute__((aligned(64))), to[4096] __attribute__((aligned(64)));
static volatile size_t size;
static pthread_mutex_t mutexes[LOCKS];
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static sem_t mine, other;

/* Ends a thread's present moment: what is released is new to whoever takes the lock. */
static void new_moment(void) {
    pthread_mutex_lock(&mutexes[0]);
    pthread_mutex_unlock(&mutexes[0]);
}

#define OPERATION(name, one) \
    static void name(uint64_t count) { \
        for (uint64_t i = 0; i < count; i++) { one; } \
    }

/* Passes over an array, each in a moment of its own. */
#define PASSES(name, number, one) \
    static void name(uint64_t count) { \
        for (uint64_t done = 0; done < count; done += (number)) { \
            for (unsigned i = 0; i < (number); i++) { one; } \
            new_moment(); \
        } \
    }

/* Two threads make whole passes by turns; each is ordered before the next. */
#define BY_TURNS(name, number, one) \
    static void name##_half(uint64_t count, sem_t *my_turn, sem_t *next) { \
        for (uint64_t done = 0; done < count; done += 2 * (number)) { \
            while (sem_wait(my_turn)) {} \
            for (unsigned i = 0; i < (number); i++) { one; } \
            sem_post(next); \
        } \
    } \
    static void *name##_other(void *count) { \
        name##_half(*(uint64_t *)count, &other, &mine); \
        return NULL; \
    } \
    static void name(uint64_t count) { \
        pthread_t thread; \
        sem_post(&mine); \
        pthread_create(&thread, NULL, name##_other, &count); \
        name##_half(count, &mine, &other); \
        pthread_join(thread, NULL); \
        while (sem_wait(&mine)) {} \
    }

OPERATION(nothing, __asm__ volatile(""))
OPERATION(read_1, (void)at1)
OPERATION(read_2, (void)at2)
OPERATION(read_4, (void)at4)
OPERATION(read_8, (void)at8)
OPERATION(read_16, (void)at16)
OPERATION(write_1, at1 = 1)
OPERATION(write_2, at2 = 1)
OPERATION(write_4, at4 = 1)
OPERATION(write_8, at8 = 1)
OPERATION(write_16, at16 = (v4){1})
PASSES(first_read_8, CELLS, (void)cells[i])
PASSES(first_write_8, CELLS, cells[i] = 1)
PASSES(first_read_4, 2 * CELLS, (void)halves[i])
PASSES(first_write_4, 2 * CELLS, halves[i] = 1)
BY_TURNS(others_read_8, CELLS, (void)cells[i])
BY_TURNS(others_write_8, CELLS, cells[i] = 1)
BY_TURNS(others_write_4, 2 * CELLS, halves[i] = 1)

#define LOAD(order) (void)atomic_load_explicit(&shared, memory_order_##order)
#define STORE(order) atomic_store_explicit(&shared, i, memory_order_##order)
#define ADD(order) (void)atomic_fetch_add_explicit(&shared, 1, memory_order_##order)
OPERATION(load_relaxed, LOAD(relaxed))
OPERATION(load_acquire, LOAD(acquire))
OPERATION(load_seq_cst, LOAD(seq_cst))
OPERATION(store_relaxed, STORE(relaxed))
OPERATION(store_release, STORE(release))
OPERATION(store_seq_cst, STORE(seq_cst))
OPERATION(add_relaxed, ADD(relaxed))
OPERATION(add_acq_rel, ADD(acq_rel))
OPERATION(write_and_add_acq_rel, at8 = i; ADD(acq_rel))
BY_TURNS(others_add_acq_rel, LOCKS, ADD(acq_rel))

static void lock_unlock(pthread_mutex_t *mutex) {
    pthread_mutex_lock(mutex);
    pthread_mutex_unlock(mutex);
}
OPERATION(mutex_own, lock_unlock(&mutexes[1]))
OPERATION(mutex_own_and_write, pthread_mutex_lock(&mutexes[1]); at8 = i; pthread_mutex_unlock(&mutexes[1]))
OPERATION(mutex_two, lock_unlock(&mutexes[1 + i % 2]))
BY_TURNS(mutex_others, LOCKS, lock_unlock(&mutexes[i]))
OPERATION(rwlock_read, pthread_rwlock_rdlock(&rwlock); pthread_rwlock_unlock(&rwlock))
OPERATION(rwlock_write, pthread_rwlock_wrlock(&rwlock); pthread_rwlock_unlock(&rwlock))
BY_TURNS(turn, 1, __asm__ volatile(""))

OPERATION(malloc_free, char *block = malloc(64); __asm__ volatile("" : "+r"(block)); free(block))

/* Not instrumented, so that what calls it has an entry and an exit, and nothing else. (clang's no_sanitize leaves entry and exit.) */
#ifdef __clang__
#define PLAIN __attribute__((noinline, disable_sanitizer_instrumentation))
#else
#define PLAIN __attribute__((noinline, no_sanitize("thread")))
#endif
PLAIN static void callee(void) { __asm__ volatile(""); }
__attribute__((noinline)) static void caller(void) {
    callee();
    __asm__ volatile("");
}
OPERATION(entry_exit, caller())

#define COPY memcpy(to, from, size); __asm__ volatile("" : : "r"(to), "r"(from) : "memory")
OPERATION(memcpy_64, COPY)
OPERATION(memcpy_4096, COPY)
PASSES(first_memcpy_4096, 1, COPY)

struct operation {
    const char *name, *says;
    void (*make)(uint64_t);
    size_t size;
};
#define ROW(name, says) {#name, says, name, 0}
static const struct operation operations[] = {
    ROW(nothing, "the loop alone"),
    ROW(read_1, "read of 1 byte, made before in this moment"),
    ROW(read_2, "read of 2 bytes, made before in this moment"),
    ROW(read_4, "read of 4 bytes, made before in this moment"),
    ROW(read_8, "read of 8 bytes, made before in this moment"),
    ROW(read_16, "read of 16 bytes, made before in this moment"),
    ROW(write_1, "write of 1 byte, made before in this moment"),
    ROW(write_2, "write of 2 bytes, made before in this moment"),
    ROW(write_4, "write of 4 bytes, made before in this moment"),
    ROW(write_8, "write of 8 bytes, made before in this moment"),
    ROW(write_16, "write of 16 bytes, made before in this moment"),
    ROW(first_read_8, "read of 8 bytes, first of its moment to the cell"),
    ROW(first_write_8, "write of 8 bytes, first of its moment to the cell"),
    ROW(first_read_4, "read of 4 bytes, first of its moment to the half"),
    ROW(first_write_4, "write of 4 bytes, first of its moment to the half"),
    ROW(others_read_8, "read of 8 bytes that another thread read, ordered before"),
    ROW(others_write_8, "write of 8 bytes that another thread wrote, ordered before"),
    ROW(others_write_4, "write of 4 bytes that another thread wrote, ordered before"),
    ROW(load_relaxed, "atomic load, relaxed"),
    ROW(load_acquire, "atomic load, acquire"),
    ROW(load_seq_cst, "atomic load, seq_cst"),
    ROW(store_relaxed, "atomic store, relaxed"),
    ROW(store_release, "atomic store, release"),
    ROW(store_seq_cst, "atomic store, seq_cst"),
    ROW(add_relaxed, "atomic add, relaxed"),
    ROW(add_acq_rel, "atomic add, acq_rel, nothing else between"),
    ROW(write_and_add_acq_rel, "atomic add, acq_rel, and a write of 8 bytes"),
    ROW(others_add_acq_rel, "atomic add, acq_rel, 64 by each of two threads by turns"),
    ROW(mutex_own, "lock and unlock, a mutex that no other thread takes"),
    ROW(mutex_own_and_write, "the same with a write of 8 bytes under it"),
    ROW(mutex_two, "lock and unlock, two such mutexes by turns"),
    ROW(mutex_others, "lock and unlock, a mutex that another thread took last"),
    ROW(rwlock_read, "read lock and unlock, a rwlock of its own"),
    ROW(rwlock_write, "write lock and unlock, a rwlock of its own"),
    ROW(turn, "one thread wakes another and waits (semaphores)"),
    ROW(malloc_free, "malloc and free of 64 bytes"),
    ROW(entry_exit, "function entry and exit"),
    {"memcpy_64", "memcpy of 64 bytes, made before in this moment", memcpy_64, 64},
    {"memcpy_4096", "memcpy of 4096 bytes, made before in this moment", memcpy_4096, 4096},
    {"first_memcpy_4096", "memcpy of 4096 bytes, first of its moment, and lock and unlock", first_memcpy_4096, 4096},
};

static void *sleeper(void *until) {
    while (sem_wait(until)) {}
    return NULL;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

int main(int argc, char **argv) {
    static sem_t over;
    const size_t all = sizeof operations / sizeof *operations;
    if (argc == 2 && strcmp(argv[1], "list") == 0) {
        for (size_t i = 0; i < all; i++) printf("%s\t%s\n", operations[i].name, operations[i].says);
        return 0;
    }
    const struct operation *operation = NULL;
    for (size_t i = 0; i < all && argc == 3; i++)
        if (strcmp(operations[i].name, argv[1]) == 0) operation = &operations[i];
    if (operation == NULL) return 2;
    for (unsigned i = 0; i < LOCKS; i++) pthread_mutex_init(&mutexes[i], NULL);
    sem_init(&mine, 0, 0);
    sem_init(&other, 0, 0);
    sem_init(&over, 0, 0);
    size = operation->size;
    pthread_t thread;
    pthread_create(&thread, NULL, sleeper, &over);
    const uint64_t count = strtoull(argv[2], NULL, 10);
    const double begun = now();
    operation->make(count);
    printf("%.4f\n", (now() - begun) / (double)count);
    sem_post(&over);
    pthread_join(thread, NULL);
    return 0;
}
