/* A stencil with barriers: heat spreads over a square plate, rows shared out among the threads.
 *
 * Five reads and a write a cell at constant strides; all threads meet after every step and read their
 * neighbours' edges in the next. SIZE is the plate's side. */
#include "kernel.h"

enum { STEPS = 40 };

static pthread_barrier_t step_done;

struct part {
    double *plates[2];
    size_t side, from, to;
};

static void spread(const double *now, double *next, size_t side, size_t row) {
    const double *here = now + row * side, *above = here - side, *below = here + side;
    double *out = next + row * side;
    for (size_t column = 1; column + 1 < side; column++) {
        out[column] = here[column] * 0.5 +
                      (above[column] + below[column] + here[column - 1] + here[column + 1]) * 0.125;
    }
}

static void *work(void *argument) {
    const struct part *part = argument;
    for (unsigned step = 0; step < STEPS; step++) {
        const double *now = part->plates[step % 2];
        double *next = part->plates[(step + 1) % 2];
        for (size_t row = part->from; row < part->to; row++) spread(now, next, part->side, row);
        pthread_barrier_wait(&step_done);
    }
    return NULL;
}

int main(int argc, char **argv) {
    const struct settings settings = settings_from(argc, argv, 540);
    const size_t side = settings.size, inner = side > 2 ? side - 2 : 0;
    double *plates[2];
    for (unsigned i = 0; i < 2; i++) plates[i] = must(calloc(side * side, sizeof(double)));
    for (size_t i = 0; i < side; i++) plates[0][i] = plates[1][i] = 1024;

    struct part parts[MOST_THREADS];
    for (unsigned i = 0; i < settings.threads; i++) {
        parts[i] = (struct part){.plates = {plates[0], plates[1]},
                                 .side = side,
                                 .from = 1 + inner * i / settings.threads,
                                 .to = 1 + inner * (i + 1) / settings.threads};
    }
    pthread_barrier_init(&step_done, NULL, settings.threads);
    run_threads(settings.threads, work, parts, sizeof *parts);
    pthread_barrier_destroy(&step_done);

    uint64_t checksum = 0;
    for (size_t i = 0; i < side * side; i++) {
        checksum = mixed(checksum + (uint64_t)(plates[STEPS % 2][i] * 65536));
    }
    print_checksum("stencil", settings, checksum);
    free(plates[0]);
    free(plates[1]);
    return 0;
}
