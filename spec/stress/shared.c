// Sixty-four threads share tables, queues, trees and counters in order; four planted accesses are in none.
//
// `shared [SECONDS [THREADS]]`. The planted pairs come after no time, a third, two thirds and nearly all of it: one thread makes
// its access and stands still until the other has made its own, so that nothing can order the two. At the end the most memory that
// the process had in a quarter of the time and in all of it is printed.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../programs/order.h"

#define MOST_THREADS 256
#define STRIPES 32
#define BUCKETS 1024
#define KEYS 4096
#define SLOTS 128
#define MAILBOXES 64
#define TREE_KEYS 512

static double seconds = 4;
static int threads = 64;
static double began;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

static unsigned next(unsigned *seed) {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 17;
    *seed ^= *seed << 5;
    return *seed;
}

// A hash table under striped locks. `resizes` is nobody's but the planted accesses'.
struct entry {
    struct entry *next;
    unsigned key;
    long value;
};

struct {
    pthread_mutex_t locks[STRIPES];
    struct entry *buckets[BUCKETS];
    long resizes;
} table;

static void table_step(unsigned *seed) {
    unsigned key = next(seed) % KEYS, bucket = key % BUCKETS;
    pthread_mutex_t *lock = &table.locks[bucket % STRIPES];
    pthread_mutex_lock(lock);
    struct entry **at = &table.buckets[bucket];
    while (*at && (*at)->key != key)
        at = &(*at)->next;
    if (!*at) {
        struct entry *entry = malloc(sizeof *entry);
        *entry = (struct entry){0, key, 1};
        *at = entry;
    } else if (next(seed) % 4 == 0) {
        struct entry *gone = *at;
        *at = gone->next;
        free(gone);
    } else {
        (*at)->value++;
    }
    pthread_mutex_unlock(lock);
}

// A bounded queue with two conditions. Nobody waits at both ends for good: whoever cannot go on in a while does something else.
struct message {
    unsigned from;
    char text[52];
};

struct {
    pthread_mutex_t lock;
    pthread_cond_t filled, emptied;
    struct message *slots[SLOTS];
    unsigned first, count;
    long highest;
} queue;

static int wait_a_while(pthread_cond_t *condition) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 2000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    return pthread_cond_timedwait(condition, &queue.lock, &until);
}

static void send(unsigned from) {
    struct message *message = malloc(sizeof *message);
    message->from = from;
    memset(message->text, 'a' + from % 26, sizeof message->text);
    pthread_mutex_lock(&queue.lock);
    while (queue.count == SLOTS && wait_a_while(&queue.emptied) == 0)
        ;
    if (queue.count < SLOTS) {
        queue.slots[(queue.first + queue.count++) % SLOTS] = message;
        message = 0;
        pthread_cond_signal(&queue.filled);
    }
    pthread_mutex_unlock(&queue.lock);
    free(message);
}

static void receive(void) {
    struct message *message = 0;
    pthread_mutex_lock(&queue.lock);
    while (queue.count == 0 && wait_a_while(&queue.filled) == 0)
        ;
    if (queue.count) {
        message = queue.slots[queue.first];
        queue.first = (queue.first + 1) % SLOTS;
        queue.count--;
        pthread_cond_broadcast(&queue.emptied);
    }
    pthread_mutex_unlock(&queue.lock);
    if (message && message->text[51] != (char)('a' + message->from % 26))
        abort();
    free(message);
}

// A search tree under a lock for readers and writers.
struct node {
    struct node *less, *more;
    unsigned key;
    long sum;
};

struct {
    pthread_rwlock_t lock;
    struct node *root;
    unsigned nodes;
    long visits;
} tree;

static void drop(struct node *node) {
    if (node) {
        drop(node->less);
        drop(node->more);
        free(node);
    }
}

static void tree_step(unsigned *seed) {
    unsigned key = next(seed) % TREE_KEYS;
    if (next(seed) % 8) {
        long sum = 0;
        pthread_rwlock_rdlock(&tree.lock);
        for (struct node *at = tree.root; at; at = key < at->key ? at->less : at->more) {
            sum += at->sum;
            if (at->key == key)
                break;
        }
        pthread_rwlock_unlock(&tree.lock);
        dh_use(sum);
        return;
    }
    pthread_rwlock_wrlock(&tree.lock);
    if (tree.nodes == TREE_KEYS / 2) {
        drop(tree.root);
        tree.root = 0;
        tree.nodes = 0;
    }
    struct node **at = &tree.root;
    while (*at && (*at)->key != key)
        at = key < (*at)->key ? &(*at)->less : &(*at)->more;
    if (!*at) {
        *at = calloc(1, sizeof **at);
        (*at)->key = key;
        tree.nodes++;
    }
    (*at)->sum++;
    pthread_rwlock_unlock(&tree.lock);
}

// Objects that are handed on by an exchange of pointers, and counted references to them.
struct shared {
    atomic_int references;
    long words[6];
};

static _Atomic(struct shared *) mailboxes[MAILBOXES];

static void let_go(struct shared *shared) {
    if (atomic_fetch_sub_explicit(&shared->references, 1, memory_order_release) == 1) {
        atomic_thread_fence(memory_order_acquire);
        free(shared);
    }
}

static void mailbox_step(unsigned *seed) {
    struct shared *mine = malloc(sizeof *mine);
    atomic_init(&mine->references, 1);
    for (int i = 0; i < 6; i++)
        mine->words[i] = i;
    // Two boxes get it: each has a reference.
    atomic_fetch_add_explicit(&mine->references, 1, memory_order_relaxed);
    for (int i = 0; i < 2; i++) {
        _Atomic(struct shared *) *box = &mailboxes[next(seed) % MAILBOXES];
        struct shared *found = atomic_exchange_explicit(box, mine, memory_order_acq_rel);
        if (found) {
            long sum = 0;
            for (int j = 0; j < 6; j++)
                sum += found->words[j];
            if (sum != 15)
                abort();
            let_go(found);
        }
    }
}

// Threads that come and go, with memory of their creator's that they free.
static void *passing(void *argument) {
    long *numbers = argument;
    unsigned seed = numbers[0];
    for (int i = 0; i < 20; i++)
        table_step(&seed);
    free(numbers);
    return malloc(24);
}

static void passing_step(unsigned *seed) {
    pthread_t thread;
    void *result;
    long *numbers = malloc(4 * sizeof *numbers);
    numbers[0] = next(seed);
    if (pthread_create(&thread, 0, passing, numbers)) {
        free(numbers);
        return;
    }
    pthread_join(thread, &result);
    free(result);
}

// The planted pairs: the first of two workers goes first and waits.
static long *lent;

static void plant_first(int which) {
    switch (which) {
    case 0:
        table.resizes++; //~ race 1: write in plant_first < work
        break;
    case 1:
        dh_use(queue.highest); //~ race 2: read in plant_first < work
        break;
    case 2:
        tree.visits = 1; //~ race 3: write in plant_first < work
        break;
    case 3:
        dh_use(*lent); //~ race 4: read in plant_first < work
        break;
    }
    dh_done(2 * which);
    dh_step(2 * which + 1);
}

static void plant_second(int which) {
    dh_step(2 * which);
    switch (which) {
    case 0:
        table.resizes = 7; //~ race 1: write in plant_second < work
        break;
    case 1:
        queue.highest = 7; //~ race 2: write in plant_second < work
        break;
    case 2:
        __atomic_fetch_add(&tree.visits, 1, __ATOMIC_RELAXED); //~ race 3: atomic write in plant_second < work
        break;
    case 3:
        free(lent); //~ race 4: free in plant_second < work
        break;
    }
    dh_done(2 * which + 1);
}

#define PLANTS 4
static const double moments[PLANTS] = {0, 1 / 3., 2 / 3., 0.95};

static void *work(void *argument) {
    long number = (long)argument;
    unsigned seed = 2463534242u + (unsigned)number * 7919;
    int planted = 0;
    for (unsigned turn = 0;; turn++) {
        if (turn % 16 == 0) {
            double passed = (now() - began) / seconds;
            if (number < 2 && planted < PLANTS && passed >= moments[planted]) {
                if (number == 0)
                    plant_first(planted);
                else
                    plant_second(planted);
                planted++;
            }
            // The two end when all is planted.
            if (passed >= 1 && (number >= 2 || planted == PLANTS))
                return 0;
        }
        switch (next(&seed) % 8) {
        case 0:
            if (number % 2)
                send((unsigned)number);
            else
                receive();
            break;
        case 1:
            tree_step(&seed);
            break;
        case 2:
            mailbox_step(&seed);
            break;
        default:
            table_step(&seed);
            break;
        }
        if (turn % 4096 == 4095)
            passing_step(&seed);
    }
}

// The most memory that the process had at a time, in KiB.
static long peak(void) {
    char line[256];
    long found = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "VmHWM: %ld", &found) == 1)
            break;
    if (file)
        fclose(file);
    return found;
}

int main(int count, char **arguments) {
    pthread_t workers[MOST_THREADS];
    if (count > 1)
        seconds = atof(arguments[1]);
    if (count > 2)
        threads = atoi(arguments[2]);
    if (seconds <= 0 || threads < 2 || threads > MOST_THREADS)
        return 2;
    for (int i = 0; i < STRIPES; i++)
        pthread_mutex_init(&table.locks[i], 0);
    pthread_mutex_init(&queue.lock, 0);
    pthread_cond_init(&queue.filled, 0);
    pthread_cond_init(&queue.emptied, 0);
    pthread_rwlock_init(&tree.lock, 0);
    lent = malloc(sizeof *lent);
    *lent = 1;
    began = now();
    for (long i = 0; i < threads; i++)
        pthread_create(&workers[i], 0, work, (void *)i);
    while (now() - began < seconds / 4)
        usleep(10000);
    long quarter = peak();
    for (int i = 0; i < threads; i++)
        pthread_join(workers[i], 0);
    printf("peak %ld KiB in a quarter of the time, %ld KiB in all\n", quarter, peak());
    return 0;
}
