/* Producer and consumer: packets go through a bounded queue under a mutex and two condition variables.
 *
 * Memory that changes hands by a lock: every packet is written by one thread and read by another.
 * Half of the threads produce (at least one), the others consume (at least one).
 * SIZE is the number of packets. */
#include "kernel.h"

#include <stdbool.h>

enum { CAPACITY = 32, WORDS = 96 };

struct packet {
    uint64_t number, words[WORDS];
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t not_full, not_empty;
    struct packet *packets[CAPACITY];
    size_t first, count;
    unsigned producers;
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER,
           .not_full = PTHREAD_COND_INITIALIZER,
           .not_empty = PTHREAD_COND_INITIALIZER};

struct part {
    bool produces;
    uint64_t from, to, sum;
};

static void put(struct packet *packet) {
    pthread_mutex_lock(&queue.lock);
    while (queue.count == CAPACITY) pthread_cond_wait(&queue.not_full, &queue.lock);
    queue.packets[(queue.first + queue.count++) % CAPACITY] = packet;
    pthread_cond_signal(&queue.not_empty);
    pthread_mutex_unlock(&queue.lock);
}

/* The next packet, or NULL once all producers are done and the queue is empty. */
static struct packet *take(void) {
    struct packet *packet = NULL;
    pthread_mutex_lock(&queue.lock);
    while (queue.count == 0 && queue.producers > 0) pthread_cond_wait(&queue.not_empty, &queue.lock);
    if (queue.count > 0) {
        packet = queue.packets[queue.first];
        queue.first = (queue.first + 1) % CAPACITY;
        queue.count--;
        pthread_cond_signal(&queue.not_full);
    }
    pthread_mutex_unlock(&queue.lock);
    return packet;
}

static void produce(const struct part *part) {
    for (uint64_t number = part->from; number < part->to; number++) {
        struct packet *packet = must(malloc(sizeof *packet));
        packet->number = number;
        for (unsigned i = 0; i < WORDS; i++) packet->words[i] = number * WORDS + i;
        put(packet);
    }
    pthread_mutex_lock(&queue.lock);
    if (--queue.producers == 0) pthread_cond_broadcast(&queue.not_empty);
    pthread_mutex_unlock(&queue.lock);
}

static void consume(struct part *part) {
    for (struct packet *packet; (packet = take()) != NULL; free(packet)) {
        uint64_t sum = packet->number;
        for (unsigned i = 0; i < WORDS; i++) sum = sum * 31 + packet->words[i];
        part->sum += mixed(sum);
    }
}

static void *work(void *argument) {
    struct part *part = argument;
    if (part->produces) {
        produce(part);
    } else {
        consume(part);
    }
    return NULL;
}

int main(int argc, char **argv) {
    const struct settings settings = settings_from(argc, argv, 150000);
    const unsigned producers = settings.threads > 1 ? settings.threads / 2 : 1;
    const unsigned threads = settings.threads > 1 ? settings.threads : 2;
    queue.producers = producers;

    struct part parts[MOST_THREADS + 1];
    for (unsigned i = 0; i < threads; i++) {
        parts[i] = (struct part){.produces = i < producers};
        if (!parts[i].produces) continue;
        parts[i].from = settings.size * i / producers;
        parts[i].to = settings.size * (i + 1) / producers;
    }
    run_threads(threads, work, parts, sizeof *parts);

    uint64_t checksum = 0;
    for (unsigned i = producers; i < threads; i++) checksum += parts[i].sum;
    print_checksum("pipeline", settings, checksum);
    return 0;
}
