/* Pointer chasing: linked nodes, shuffled over a big array, summed by every thread.
 *
 * Addresses that nothing predicts, most of them out of the caches: the hardest case for a trace's
 * size. SIZE is the number of nodes. */
#include "kernel.h"

enum { ROUNDS = 6 };

struct node {
    struct node *next;
    uint64_t value;
    char payload[16];
};

struct part {
    const struct node *start;
    size_t steps;
    uint64_t sum;
};

static void *chase(void *argument) {
    struct part *part = argument;
    const struct node *p = part->start;
    uint64_t sum = 0;
    for (size_t i = 0; i < part->steps; i++) {
        sum += p->value;
        p = p->next;
    }
    part->sum = sum;
    return NULL;
}

/* Links the nodes to one ring through all of them (Sattolo's shuffle). */
static void link_shuffled(struct node *nodes, size_t count) {
    uint64_t state = 11;
    size_t *order = must(malloc(count * sizeof *order));
    for (size_t i = 0; i < count; i++) order[i] = i;
    for (size_t i = count - 1; i > 0; i--) {
        const size_t other = random_next(&state) % i;
        const size_t kept = order[i];
        order[i] = order[other];
        order[other] = kept;
    }
    for (size_t i = 0; i < count; i++) {
        struct node *node = &nodes[order[i]];
        node->next = &nodes[order[i + 1 < count ? i + 1 : 0]];
        node->value = mixed(order[i]);
    }
    free(order);
}

int main(int argc, char **argv) {
    const struct settings settings = settings_from(argc, argv, 1000000);
    struct node *nodes = must(calloc(settings.size, sizeof *nodes));
    link_shuffled(nodes, settings.size);

    /* Whole rounds of the ring: the sum is the same wherever a thread starts. */
    struct part parts[MOST_THREADS];
    for (unsigned i = 0; i < settings.threads; i++) {
        parts[i] = (struct part){.start = &nodes[settings.size * i / settings.threads],
                                 .steps = settings.size * ROUNDS};
    }
    run_threads(settings.threads, chase, parts, sizeof *parts);

    uint64_t checksum = 0;
    for (unsigned i = 0; i < settings.threads; i++) checksum = mixed(checksum + parts[i].sum);
    print_checksum("chase", settings, checksum);
    free(nodes);
    return 0;
}
