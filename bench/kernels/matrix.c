/* Dense arithmetic: the product of two square matrices, rows shared out among the threads.
 *
 * Long runs of accesses at constant stride from few places; no synchronisation but fork and join.
 * SIZE is the matrices' side. */
#include "kernel.h"

struct part {
    const double *left, *right;
    double *product;
    size_t side, from, to;
};

static void *multiply_rows(void *argument) {
    const struct part *part = argument;
    const size_t side = part->side;
    for (size_t row = part->from; row < part->to; row++) {
        double *out = part->product + row * side;
        for (size_t k = 0; k < side; k++) {
            const double factor = part->left[row * side + k];
            const double *in = part->right + k * side;
            for (size_t column = 0; column < side; column++) out[column] += factor * in[column];
        }
    }
    return NULL;
}

/* Small whole numbers, so that every sum is exact and the order of additions cannot matter. */
static double *random_matrix(size_t side, uint64_t seed) {
    double *matrix = must(calloc(side * side, sizeof *matrix));
    for (size_t i = 0; i < side * side; i++) matrix[i] = (double)(random_next(&seed) % 19) - 9;
    return matrix;
}

int main(int argc, char **argv) {
    const struct settings settings = settings_from(argc, argv, 340);
    const size_t side = settings.size;
    double *left = random_matrix(side, 1), *right = random_matrix(side, 2);
    double *product = must(calloc(side * side, sizeof *product));

    struct part parts[MOST_THREADS];
    for (unsigned i = 0; i < settings.threads; i++) {
        parts[i] = (struct part){.left = left,
                                 .right = right,
                                 .product = product,
                                 .side = side,
                                 .from = side * i / settings.threads,
                                 .to = side * (i + 1) / settings.threads};
    }
    run_threads(settings.threads, multiply_rows, parts, sizeof *parts);

    uint64_t checksum = 0;
    for (size_t i = 0; i < side * side; i++) checksum = mixed(checksum + (uint64_t)(int64_t)product[i]);
    print_checksum("matrix", settings, checksum);
    free(left);
    free(right);
    free(product);
    return 0;
}
