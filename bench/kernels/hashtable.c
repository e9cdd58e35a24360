/* A hash table with chains under striped locks: threads count words that look random.
 *
 * Many short critical sections, pointers followed in each, a few shared cells a section.
 * SIZE is the number of operations of all threads together. */
#include "kernel.h"

enum { STRIPES = 64, BUCKETS = 1 << 14, KEYS = 40000 };

struct entry {
    struct entry *next;
    uint64_t key, count, sum;
};

struct stripe {
    pthread_mutex_t lock;
    uint64_t entries;
    char apart[64];
};

static struct stripe stripes[STRIPES];
static struct entry *buckets[BUCKETS];

struct part {
    uint64_t seed, operations, found;
};

/* The entry of a key, made if it is not there. The caller holds the bucket's stripe. */
static struct entry *entry_of(uint64_t key, size_t bucket, struct stripe *stripe) {
    for (struct entry *entry = buckets[bucket]; entry != NULL; entry = entry->next) {
        if (entry->key == key) return entry;
    }
    struct entry *entry = must(malloc(sizeof *entry));
    *entry = (struct entry){.next = buckets[bucket], .key = key, .count = 0, .sum = 0};
    buckets[bucket] = entry;
    stripe->entries++;
    return entry;
}

static void *operate(void *argument) {
    struct part *part = argument;
    uint64_t state = part->seed, found = 0;
    for (uint64_t i = 0; i < part->operations; i++) {
        const uint64_t word = random_next(&state);
        const uint64_t key = word % KEYS;
        const size_t bucket = mixed(key) % BUCKETS;
        struct stripe *stripe = &stripes[bucket % STRIPES];
        pthread_mutex_lock(&stripe->lock);
        struct entry *entry = entry_of(key, bucket, stripe);
        if (word >> 62 == 0) {
            found += entry->key == key;
        } else {
            entry->count++;
            entry->sum += word >> 32;
        }
        pthread_mutex_unlock(&stripe->lock);
    }
    part->found = found;
    return NULL;
}

int main(int argc, char **argv) {
    const struct settings settings = settings_from(argc, argv, 2000000);
    for (size_t i = 0; i < STRIPES; i++) pthread_mutex_init(&stripes[i].lock, NULL);

    struct part parts[MOST_THREADS];
    for (unsigned i = 0; i < settings.threads; i++) {
        parts[i] = (struct part){.seed = mixed(i + 1), .operations = settings.size / settings.threads};
    }
    run_threads(settings.threads, operate, parts, sizeof *parts);

    uint64_t checksum = 0, entries = 0;
    for (unsigned i = 0; i < settings.threads; i++) checksum += parts[i].found;
    for (size_t i = 0; i < STRIPES; i++) {
        entries += stripes[i].entries;
        pthread_mutex_destroy(&stripes[i].lock);
    }
    /* A chain's order depends on the schedule, so its entries are added, not strung together. */
    for (size_t i = 0; i < BUCKETS; i++) {
        for (struct entry *entry = buckets[i], *next; entry != NULL; entry = next) {
            next = entry->next;
            checksum += mixed(entry->key) * (entry->count + 3 * entry->sum);
            free(entry);
        }
    }
    print_checksum("hashtable", settings, mixed(checksum + entries));
    return 0;
}
