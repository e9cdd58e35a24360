/* A read-mostly table under a readers-writer lock: binary searches, and a change now and then.
 *
 * Cells that all threads read in read mode and few write in write mode. SIZE is the number of
 * operations of all threads together. */
#include "kernel.h"

enum { ROWS = 4096, CHANGE_EVERY = 64, CHANGED = 32 };

struct row {
    uint64_t key, value;
};

static struct {
    pthread_rwlock_t lock;
    struct row rows[ROWS];
    uint64_t changes;
} table;

struct part {
    uint64_t seed, operations, found;
};

/* The row of the greatest key that is not above `key`. The caller holds the lock. */
static size_t row_of(uint64_t key) {
    size_t low = 0, high = ROWS;
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (table.rows[middle].key <= key) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

static void change(uint64_t word) {
    pthread_rwlock_wrlock(&table.lock);
    const size_t first = row_of(word % (ROWS * 10));
    for (size_t i = 0; i < CHANGED; i++) table.rows[(first + i) % ROWS].value += word >> 48;
    table.changes++;
    pthread_rwlock_unlock(&table.lock);
}

static void *work(void *argument) {
    struct part *part = argument;
    uint64_t state = part->seed, found = 0, seen = 0;
    for (uint64_t i = 0; i < part->operations; i++) {
        const uint64_t word = random_next(&state);
        if (i % CHANGE_EVERY == 0) {
            change(word);
            continue;
        }
        pthread_rwlock_rdlock(&table.lock);
        const struct row *row = &table.rows[row_of(word % (ROWS * 10))];
        found += row->key;
        seen += row->value;
        pthread_rwlock_unlock(&table.lock);
    }
    /* What was seen depends on the schedule; it is looked at only so that the reads are made. */
    part->found = found + (seen == UINT64_MAX);
    return NULL;
}

int main(int argc, char **argv) {
    const struct settings settings = settings_from(argc, argv, 2000000);
    pthread_rwlock_init(&table.lock, NULL);
    for (size_t i = 0; i < ROWS; i++) table.rows[i] = (struct row){.key = i * 10, .value = 0};

    struct part parts[MOST_THREADS];
    for (unsigned i = 0; i < settings.threads; i++) {
        parts[i] = (struct part){.seed = mixed(i + 1), .operations = settings.size / settings.threads};
    }
    run_threads(settings.threads, work, parts, sizeof *parts);
    pthread_rwlock_destroy(&table.lock);

    uint64_t checksum = table.changes;
    for (unsigned i = 0; i < settings.threads; i++) checksum += parts[i].found;
    for (size_t i = 0; i < ROWS; i++) checksum = mixed(checksum + table.rows[i].value);
    print_checksum("rwlock", settings, checksum);
    return 0;
}
